package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	principal    = "User:bob"
	elsewhere    = "10.9.9.9"
	prefixLength = 8
)

// acls has an admin make two ACLs, list what speaks about a topic and remove it; before, between
// and after a user tries to write. Prints what it saw, as tests/compat/security/acl_round_trips.py
// says: franz <bootstrap> acls <admin.json> <user.json> <topic>.
func acls(ctx context.Context, bootstrap, adminFile, userFile, topic string) error {
	asAdmin, asUser := run{bootstrap: bootstrap}, run{bootstrap: bootstrap, topic: topic}
	var err error
	if asAdmin.way, err = wayOf(adminFile); err != nil {
		return err
	}
	if asUser.way, err = wayOf(userFile); err != nil {
		return err
	}
	client, err := asAdmin.client()
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	about := kadm.NewACLs().Topics(topic).ResourcePatternType(kadm.ACLPatternMatch).
		Operations().Allow(principal).AllowHosts().Deny(principal).DenyHosts()

	fmt.Println(asUser.attempt(ctx))
	for _, made := range []*kadm.ACLBuilder{
		kadm.NewACLs().Topics(topic).Operations(kadm.OpWrite).Allow(principal).AllowHosts("*"),
		kadm.NewACLs().Topics(topic[:prefixLength]).ResourcePatternType(kadm.ACLPatternPrefixed).
			Operations(kadm.OpRead).Deny(principal).DenyHosts(elsewhere),
	} {
		results, err := admin.CreateACLs(ctx, made)
		if err != nil {
			return err
		}
		for _, one := range results {
			if one.Err != nil {
				return one.Err
			}
		}
	}
	if err := tellListed(ctx, admin, about, "listed"); err != nil {
		return err
	}
	fmt.Println(asUser.attempt(ctx))
	removed, err := admin.DeleteACLs(ctx, about)
	if err != nil {
		return err
	}
	var texts []string
	for _, result := range removed {
		for _, one := range result.Deleted {
			texts = append(texts, text(one.Permission, one.Operation, one.Pattern, one.Host))
		}
	}
	tell("removed", texts)
	if err := tellListed(ctx, admin, about, "left"); err != nil {
		return err
	}
	fmt.Println(asUser.attempt(ctx))
	return nil
}

// attempt says whether the user may write.
func (r run) attempt(ctx context.Context) string {
	producer, err := r.client(
		kgo.DefaultProduceTopic(r.topic),
		kgo.DisableIdempotentWrite(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	if err != nil {
		return err.Error()
	}
	defer producer.Close()
	err = producer.ProduceSync(ctx, kgo.StringRecord("x")).FirstErr()
	var refused *kerr.Error
	switch {
	case err == nil:
		return "written"
	case errors.As(err, &refused):
		return refused.Message
	default:
		return err.Error()
	}
}

func tellListed(ctx context.Context, admin *kadm.Client, b *kadm.ACLBuilder, how string) error {
	results, err := admin.DescribeACLs(ctx, b)
	if err != nil {
		return err
	}
	var texts []string
	for _, result := range results {
		if result.Err != nil {
			return result.Err
		}
		for _, one := range result.Described {
			texts = append(texts, text(one.Permission, one.Operation, one.Pattern, one.Host))
		}
	}
	tell(how, texts)
	return nil
}

func text(permission, operation, pattern fmt.Stringer, host string) string {
	return fmt.Sprintf("%s %s %s %s", permission, operation, pattern, host)
}

func tell(how string, texts []string) {
	sort.Strings(texts)
	fmt.Println(strings.TrimSpace(how + " " + strings.Join(texts, ", ")))
}
