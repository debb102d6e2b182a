"""One file per API. Each is a module with:

    SERVES = Serves(18, 0, 4, kips={...})           which API it serves, in which versions
    def handle(core: BrokerCore, context: RequestContext, request: XRequest, respond: Respond) -> None
    def refuse(request: XRequest, code: ErrorCode) -> Steps[Response]     optional, see below

`handle` is synchronous: it calls `respond` once, at once or from a callback of a core, with the response
message, or with None if the request gets no answer. If `handle` raises before that, `refuse` makes the
answer, in steps since it may have an element for each of the request's, or, without a `refuse`, the
response's own `error_code` is set; with neither the connection is closed.
"""
