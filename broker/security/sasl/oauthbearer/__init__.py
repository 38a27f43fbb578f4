"""OAUTHBEARER: logging in with a token, both halves. `jwt_validator` judges a token."""
