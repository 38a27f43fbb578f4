package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

const life = time.Hour

// tokens makes, sees, uses, renews and ends a delegation token. Prints what it saw, as
// tests/compat/security/token_round_trips.py says: franz <bootstrap> tokens <way.json> <topic>.
func tokens(ctx context.Context, bootstrap, file, topic string) error {
	w, err := readWay(file)
	if err != nil {
		return err
	}
	own := run{bootstrap: bootstrap, topic: topic}
	if own.way, err = w.options(); err != nil {
		return err
	}
	client, err := own.client()
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	token, err := admin.CreateDelegationToken(ctx, kadm.CreateDelegationToken{
		Renewers:    []kadm.Principal{{Type: "User", Name: "bob"}},
		MaxLifetime: life,
	})
	if err != nil {
		return err
	}
	fmt.Printf("made for %s:%s, ", token.Owner.Type, token.Owner.Name)
	described, err := seen(ctx, admin, token)
	if err != nil {
		return err
	}
	for _, one := range described {
		for _, renewer := range one.Renewers {
			fmt.Printf("renewed by %s:%s\n", renewer.Type, renewer.Name)
		}
	}
	fmt.Println("seen", len(described))
	for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		other := own
		if other.way, err = w.byToken(token, mechanism).options(); err != nil {
			return err
		}
		fmt.Printf("%s %s, %s\n", mechanism, other.attempt(ctx), other.another(ctx))
	}
	expiry, err := admin.RenewDelegationToken(ctx, token.HMAC, 0)
	if err != nil {
		return err
	}
	if expiry.Equal(token.MaxTimestamp) {
		fmt.Println("renewed to its end")
	} else {
		fmt.Println("renewed to", expiry)
	}
	if _, err := admin.ExpireDelegationToken(ctx, token.HMAC, -time.Millisecond); err != nil {
		return err
	}
	for described, err = seen(ctx, admin, token); len(described) > 0; {
		if described, err = seen(ctx, admin, token); err != nil {
			return err
		}
	}
	fmt.Println("seen", len(described))
	if own.way, err = w.byToken(token, "SCRAM-SHA-256").options(); err != nil {
		return err
	}
	fmt.Println(own.another(ctx))
	return nil
}

func seen(ctx context.Context, admin *kadm.Client, token kadm.DelegationToken) (
	[]kadm.DelegationToken, error) {
	all, err := admin.DescribeDelegationTokens(ctx, token.Owner)
	var found []kadm.DelegationToken
	for _, one := range all {
		if one.TokenID == token.TokenID {
			found = append(found, one)
		}
	}
	return found, err
}

// byToken is the same way with a token in place of a password.
func (w way) byToken(token kadm.DelegationToken, mechanism string) way {
	w.Mechanism, w.DelegationToken = mechanism, true
	w.User, w.Password = token.TokenID, base64.StdEncoding.EncodeToString(token.HMAC)
	return w
}

// another says whether it gets a token.
func (r run) another(ctx context.Context) string {
	client, err := r.client()
	if err != nil {
		return err.Error()
	}
	defer client.Close()
	_, err = kadm.NewClient(client).CreateDelegationToken(ctx, kadm.CreateDelegationToken{})
	var refused *kerr.Error
	if errors.As(err, &refused) {
		return refused.Message
	}
	return fmt.Sprint(err)
}
