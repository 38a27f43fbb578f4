"""OAUTHBEARER: logins by token, both halves. Readers begin with `server`."""
