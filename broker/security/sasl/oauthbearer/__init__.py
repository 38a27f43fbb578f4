"""OAUTHBEARER: logging in with a token, both halves. `server` is the place to begin."""
