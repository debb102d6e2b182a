"""The history of a simulated cluster, in Kafka's words: what happened when, to whom, and after what.

- `recorder`: records the history of a world while it runs.
- `events`: one typed value per event; `cluster_state`: the state between two events.
- `history`: a bounded sequence of events.
- `watching`: reads the state of brokers and of the metadata store.
- `conversations`: cuts the bytes of connections into requests and answers; `reading`: what these say.
- `telling`: events as lines of text.

`sim.page` shows a history as a web page.
"""
