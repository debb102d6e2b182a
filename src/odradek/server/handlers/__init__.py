"""One file per API. Each is a module with:

    API_KEY = 18                                    which API it serves; names and versions are the wire's
    def handle(core: BrokerCore, context: RequestContext, request: XRequest, respond: Respond) -> None
    def refuse(request: XRequest, code: ErrorCode) -> XResponse          optional, see below

`handle` is synchronous: it calls `respond` once, at once or from a callback of a core, with the response
message, or with None when the request gets no answer. What it raises before that is answered by `refuse`, or
by the response's own `error_code` when there is no `refuse`; with neither the connection is closed.
"""
