"""One file per API. Each is a module with:

    SERVES = Serves(18, 0, 4, kips={...})           which API it serves, in which versions
    def handle(core: BrokerCore, context: RequestContext, request: XRequest, respond: Respond) -> None
    def refuse(request: XRequest, code: ErrorCode) -> XResponse          optional, see below

`handle` is synchronous: it calls `respond` once, at once or from a callback of a core, with the response
message, or with None when the request gets no answer. What it raises before that is answered by `refuse`, or
by the response's own `error_code` when there is no `refuse`; with neither the connection is closed.
"""
