"""The metadata store's port and engines, the cluster image, the controller's decisions.

The modules, from the bottom up:

- `store`: the port: versioned nodes, watches, sessions; operations, results and events as values.
- `tree`, `watches`: the semantics of the operations, for Odradek's own engines.
- `memory`, `embedded`: the engines: dictionaries, and one SQLite file.
- `store_host`: sessions over an engine that blocks, as events.
- `paths`, `codec`: Kafka's layout of the store, and the documents in it.
- `image`: the cluster as a broker knows it, changed by `Change` values.
- `orders`: the controller's orders to brokers.
- `startup`: loads a store into an image.
- `controller`: the decisions, and the core that handles one event after another.
- `channel`, `awake_time`, `remote_session`: connections to a store in another process, the time that leases
  are measured in, and what all sessions over such connections share.
- `service`, `zookeeper`: the two kinds of such a store: a supervisor's (both of its sides), and ZooKeeper.
- `kraft`, `takeover`: reading KRaft's metadata log, and taking over the log directories of a Kafka broker.

A server opens a session, hands `controller.Controller` its events and carries out the effects:

    session = StoreHost(EmbeddedEngine(file), background).session()
    session.open(on_event)     ->  SessionOpened(7), which becomes Started(registration, 7)
    StoreCall(3, operation)    ->  session.submit(operation), here 0
    StoreReplied(0, result)    ->  StoreReplied(3, result) for the controller
"""
