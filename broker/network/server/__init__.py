"""The server: an acceptor, network processors, the queue of requests to the handlers."""
