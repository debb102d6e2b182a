"""What only the controller decides, asked by any broker.

    any_controller    the call that a broker's own code makes, wherever the controller is
    forwarding        requests on their way, sent one after another; `forwarding_states` is their table
    envelopes         a request, or its answer, within an Envelope

What clients send is forwarded by `node/forwarded_request`.
"""
