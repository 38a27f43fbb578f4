"""The shell around the sockets: Acceptor, Processors, RequestChannel, handler pool."""
