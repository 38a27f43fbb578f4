package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// way is how the client comes in: files in PEM, the certificate behind its key.
type way struct {
	Mechanism, User, Password, Token string
	Authority, Certificate           string
	// DelegationToken: user and password are those of one.
	DelegationToken bool
}

func wayOf(file string) ([]kgo.Opt, error) {
	w, err := readWay(file)
	if err != nil {
		return nil, err
	}
	return w.options()
}

func readWay(file string) (way, error) {
	var w way
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	return w, err
}

func (w way) options() ([]kgo.Opt, error) {
	options := []kgo.Opt{}
	if w.Authority != "" {
		config, err := w.tls()
		if err != nil {
			return nil, err
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	if w.Mechanism != "" {
		options = append(options, kgo.SASL(w.sasl()))
	}
	return options, nil
}

func (w way) tls() (*tls.Config, error) {
	authority, err := os.ReadFile(w.Authority)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(authority) {
		return nil, errors.New("no certificate in " + w.Authority)
	}
	if w.Certificate != "" {
		own, err := tls.LoadX509KeyPair(w.Certificate, w.Certificate)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

func (w way) sasl() sasl.Mechanism {
	login := scram.Auth{User: w.User, Pass: w.Password, IsToken: w.DelegationToken}
	switch w.Mechanism {
	case "PLAIN":
		return plain.Auth{User: w.User, Pass: w.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return login.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return login.AsSha512Mechanism()
	default:
		return oauth.Auth{Token: w.Token}.AsMechanism()
	}
}

// transactions aborts one and commits one; only the second one's record is read as committed.
func (r run) transactions(ctx context.Context, admin *kadm.Client) error {
	topic := r.topic + "-transactions"
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, topic); err != nil {
		return err
	}
	producer, err := r.client(kgo.TransactionalID(topic), kgo.DefaultProduceTopic(topic))
	if err != nil {
		return err
	}
	defer producer.Close()
	for value, end := range map[string]kgo.TransactionEndTry{
		"aborted": kgo.TryAbort, "committed": kgo.TryCommit,
	} {
		if err := producer.BeginTransaction(); err != nil {
			return err
		}
		if err := producer.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
			return err
		}
		if err := producer.EndTransaction(ctx, end); err != nil {
			return err
		}
	}
	reader, err := r.client(
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	)
	if err != nil {
		return err
	}
	defer reader.Close()
	var read []*kgo.Record
	for len(read) == 0 {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		read = fetches.Records()
	}
	if len(read) != 1 || string(read[0].Value) != "committed" {
		return fmt.Errorf("read %d records, first %q", len(read), read[0].Value)
	}
	_, err = admin.DeleteTopic(ctx, topic)
	return err
}
