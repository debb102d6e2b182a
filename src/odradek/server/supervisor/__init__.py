"""The process above the brokers of one machine, `odradek serve --brokers`.

    process_states   a broker's process: its states, one table                                 without I/O
    cluster_states   all processes together: starts, restarts, one clean stop                  without I/O
    broker_settings  the settings of a cluster, spread over its brokers                        without I/O
    cluster_file     what a cluster keeps from one start to the next: its size, ports, sockets
    directories      which directories are a cluster's, and which are refused
    lost_brokers     brokers that run, without a file that names their process
    ports            ports held for brokers that are not running
    processes        brokers as processes: started by exec, found again, watched, signalled
    supervise        the loop that puts them together

The supervisor starts the brokers, and starts them again; it carries nothing between them. Brokers go on
serving when it dies, and the next supervisor finds them.
"""
