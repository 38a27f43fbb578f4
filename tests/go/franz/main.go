// A round trip of the franz-go client: franz <bootstrap> [records] [way.json].
//
// Creates a topic of three partitions, produces with acks=all (idempotent), consumes in a group,
// commits, and lets a second member go on from the commit. By a way (way.go) it also makes two
// transactions. Prints one line of JSON and exits 0, or one line of what went wrong and exits 1.
//
// franz <bootstrap> acls … is about ACLs (acls.go), franz <bootstrap> tokens … about delegation
// tokens (tokens.go).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	partitions  = 3
	timestampMs = 1_700_000_000_000
)

type run struct {
	bootstrap string
	topic     string
	group     string
	way       []kgo.Opt
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if len(os.Args) == 6 && os.Args[2] == "acls" {
		if err := acls(ctx, os.Args[1], os.Args[3], os.Args[4], os.Args[5]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 5 && os.Args[2] == "tokens" {
		if err := tokens(ctx, os.Args[1], os.Args[3], os.Args[4]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	summary, err := roundTrip(ctx, os.Args[1:])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(summary)
}

func roundTrip(ctx context.Context, args []string) (map[string]any, error) {
	if len(args) < 1 {
		return nil, errors.New("usage: franz <bootstrap> [records] [way.json]")
	}
	count := 1000
	if len(args) > 1 {
		var err error
		if count, err = strconv.Atoi(args[1]); err != nil {
			return nil, err
		}
	}
	topic := fmt.Sprintf("franz-%d", time.Now().UnixNano())
	r := run{bootstrap: args[0], topic: topic, group: topic + "-group"}
	if len(args) > 2 {
		var err error
		if r.way, err = wayOf(args[2]); err != nil {
			return nil, err
		}
	}

	client, err := r.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	// The records are years old: a check of retention amid the test would take them away.
	forEver := "-1"
	configs := map[string]*string{"retention.ms": &forEver}
	if _, err := admin.CreateTopic(ctx, partitions, 1, configs, r.topic); err != nil {
		return nil, fmt.Errorf("create topic: %w", err)
	}
	for _, part := range []struct{ from, number int }{{0, count}, {count, 10}} {
		if err := r.produce(ctx, part.from, part.number); err != nil {
			return nil, fmt.Errorf("produce: %w", err)
		}
		if err := r.consume(ctx, part.from, part.number); err != nil {
			return nil, fmt.Errorf("consume: %w", err)
		}
	}
	committed, err := r.committed(ctx, admin)
	if err != nil {
		return nil, err
	}
	if committed != int64(count+10) {
		return nil, fmt.Errorf("committed %d of %d", committed, count+10)
	}
	if r.way != nil {
		if err := r.transactions(ctx, admin); err != nil {
			return nil, fmt.Errorf("transactions: %w", err)
		}
	}
	if err := r.clean(ctx, admin); err != nil {
		return nil, err
	}
	return map[string]any{
		"client": "franz-go", "records": count + 10, "committed": committed,
	}, nil
}

func (r run) client(options ...kgo.Opt) (*kgo.Client, error) {
	options = append(options, kgo.SeedBrokers(r.bootstrap))
	return kgo.NewClient(append(options, r.way...)...)
}

func key(i int) []byte {
	if i%7 == 0 {
		return nil
	}
	return fmt.Appendf(nil, "key-%d", i)
}

func value(i int) []byte {
	return fmt.Appendf(nil, "value %d é", i)
}

func (r run) produce(ctx context.Context, from, number int) error {
	client, err := r.client(
		kgo.DefaultProduceTopic(r.topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.SnappyCompression()),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	records := make([]*kgo.Record, 0, number)
	for i := from; i < from+number; i++ {
		records = append(records, &kgo.Record{
			Key: key(i), Value: value(i), Partition: int32(i % partitions),
			Timestamp: time.UnixMilli(timestampMs + int64(i)),
			Headers:   []kgo.RecordHeader{{Key: "number", Value: []byte(strconv.Itoa(i))}},
		})
	}
	for _, result := range client.ProduceSync(ctx, records...) {
		if result.Err != nil {
			return result.Err
		}
	}
	for n, record := range records {
		if want := int64((from + n) / partitions); record.Offset != want {
			return fmt.Errorf("record %d got offset %d", from+n, record.Offset)
		}
	}
	return nil
}

func (r run) consume(ctx context.Context, from, number int) error {
	client, err := r.client(
		kgo.ConsumerGroup(r.group),
		kgo.ConsumeTopics(r.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	next := map[int32]int{}
	for i := from; i < from+partitions; i++ {
		next[int32(i%partitions)] = i
	}
	for received := 0; received < number; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("after %d of %d: %w", received, number, err)
		}
		for _, record := range fetches.Records() {
			i := next[record.Partition]
			if err := verify(record, i); err != nil {
				return err
			}
			next[record.Partition] = i + partitions
			received++
		}
	}
	return client.CommitUncommittedOffsets(ctx)
}

func verify(record *kgo.Record, i int) error {
	switch {
	case record.Offset != int64(i/partitions):
		return fmt.Errorf("record %d: offset %d", i, record.Offset)
	case string(record.Key) != string(key(i)) || (record.Key == nil) != (key(i) == nil):
		return fmt.Errorf("record %d: key %q", i, record.Key)
	case string(record.Value) != string(value(i)):
		return fmt.Errorf("record %d: value %q", i, record.Value)
	case record.Timestamp.UnixMilli() != timestampMs+int64(i):
		return fmt.Errorf("record %d: timestamp %v", i, record.Timestamp)
	case len(record.Headers) != 1 || string(record.Headers[0].Value) != strconv.Itoa(i):
		return fmt.Errorf("record %d: headers %v", i, record.Headers)
	}
	return nil
}

func (r run) committed(ctx context.Context, admin *kadm.Client) (int64, error) {
	offsets, err := admin.FetchOffsets(ctx, r.group)
	if err != nil {
		return 0, fmt.Errorf("fetch offsets: %w", err)
	}
	var total int64
	offsets.Each(func(offset kadm.OffsetResponse) { total += offset.At })
	return total, offsets.Error()
}

func (r run) clean(ctx context.Context, admin *kadm.Client) error {
	if _, err := admin.DeleteGroup(ctx, r.group); err != nil {
		return fmt.Errorf("delete group: %w", err)
	}
	if _, err := admin.DeleteTopic(ctx, r.topic); err != nil {
		return fmt.Errorf("delete topic: %w", err)
	}
	return nil
}
