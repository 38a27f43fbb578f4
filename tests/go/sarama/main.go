// A round trip of the Sarama client: sarama <bootstrap> [Kafka release, as 2.8.0] [records].
//
// Sarama chooses request versions by the release that it is told, never by asking the broker.
// Creates a topic of three partitions, produces with acks=all (idempotent), consumes in a group,
// commits, and lets a second member go on from the commit. Prints one line of JSON and exits 0, or
// one line of what went wrong and exits 1.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/IBM/sarama"
)

const (
	partitions  = 3
	timestampMs = 1_700_000_000_000
)

type run struct {
	brokers []string
	topic   string
	group   string
	version sarama.KafkaVersion
}

func main() {
	summary, err := roundTrip(os.Args[1:])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(summary)
}

func roundTrip(args []string) (map[string]any, error) {
	if len(args) < 1 {
		return nil, errors.New("usage: sarama <bootstrap> [release] [records]")
	}
	release, count := "2.8.0", 1000
	if len(args) > 1 {
		release = args[1]
	}
	version, err := sarama.ParseKafkaVersion(release)
	if err != nil {
		return nil, err
	}
	if len(args) > 2 {
		if count, err = strconv.Atoi(args[2]); err != nil {
			return nil, err
		}
	}
	topic := fmt.Sprintf("sarama-%d", time.Now().UnixNano())
	r := run{brokers: args[:1], topic: topic, group: topic + "-group", version: version}

	admin, err := sarama.NewClusterAdmin(r.brokers, r.config())
	if err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	defer admin.Close()
	// The records are years old: a check of retention amid the test would take them away.
	forEver := "-1"
	detail := &sarama.TopicDetail{
		NumPartitions: partitions, ReplicationFactor: 1,
		ConfigEntries: map[string]*string{"retention.ms": &forEver},
	}
	if err := admin.CreateTopic(r.topic, detail, false); err != nil {
		return nil, fmt.Errorf("create topic: %w", err)
	}
	for _, part := range []struct{ from, number int }{{0, count}, {count, 10}} {
		if err := r.produce(part.from, part.number); err != nil {
			return nil, fmt.Errorf("produce: %w", err)
		}
		if err := r.consume(part.from, part.number); err != nil {
			return nil, fmt.Errorf("consume: %w", err)
		}
	}
	committed, err := r.committed(admin)
	if err != nil {
		return nil, err
	}
	if committed != int64(count+10) {
		return nil, fmt.Errorf("committed %d of %d", committed, count+10)
	}
	if err := admin.DeleteConsumerGroup(r.group); err != nil {
		return nil, fmt.Errorf("delete group: %w", err)
	}
	if err := admin.DeleteTopic(r.topic); err != nil {
		return nil, fmt.Errorf("delete topic: %w", err)
	}
	return map[string]any{
		"client": "sarama", "release": release, "records": count + 10, "committed": committed,
	}, nil
}

func (r run) config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = r.version
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Return.Errors = false
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Compression = sarama.CompressionLZ4
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	return config
}

func key(i int) sarama.Encoder {
	if i%7 == 0 {
		return nil
	}
	return sarama.StringEncoder(fmt.Sprintf("key-%d", i))
}

func value(i int) string {
	return fmt.Sprintf("value %d é", i)
}

func (r run) produce(from, number int) error {
	producer, err := sarama.NewSyncProducer(r.brokers, r.config())
	if err != nil {
		return err
	}
	defer producer.Close()
	messages := make([]*sarama.ProducerMessage, 0, number)
	for i := from; i < from+number; i++ {
		messages = append(messages, &sarama.ProducerMessage{
			Topic: r.topic, Partition: int32(i % partitions),
			Key: key(i), Value: sarama.StringEncoder(value(i)),
			Timestamp: time.UnixMilli(timestampMs + int64(i)),
			Headers: []sarama.RecordHeader{
				{Key: []byte("number"), Value: []byte(strconv.Itoa(i))},
			},
		})
	}
	if err := producer.SendMessages(messages); err != nil {
		return err
	}
	for n, message := range messages {
		if want := int64((from + n) / partitions); message.Offset != want {
			return fmt.Errorf("record %d got offset %d", from+n, message.Offset)
		}
	}
	return nil
}

// A member of the group that stops when it has what it waits for.
type member struct {
	from, number int
	received     chan error
	done         context.CancelFunc
}

func (r run) consume(from, number int) error {
	group, err := sarama.NewConsumerGroup(r.brokers, r.group, r.config())
	if err != nil {
		return err
	}
	defer group.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	m := &member{from: from, number: number, received: make(chan error, number+1), done: cancel}
	finished := make(chan error, 1)
	go func() {
		for n := 0; n < number; n++ {
			select {
			case err := <-m.received:
				if err != nil {
					finished <- err
					cancel()
					return
				}
			case <-ctx.Done():
				finished <- fmt.Errorf("only %d of %d: %w", n, number, ctx.Err())
				return
			}
		}
		finished <- nil
		cancel()
	}()
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{r.topic}, m); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return <-finished
}

func (m *member) Setup(sarama.ConsumerGroupSession) error { return nil }

func (m *member) Cleanup(session sarama.ConsumerGroupSession) error {
	session.Commit()
	return nil
}

func (m *member) ConsumeClaim(
	session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim,
) error {
	next := m.from
	for next%partitions != int(claim.Partition()) {
		next++
	}
	for {
		select {
		case <-session.Context().Done():
			return nil
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			session.MarkMessage(message, "")
			m.received <- verify(message, next)
			next += partitions
		}
	}
}

func verify(message *sarama.ConsumerMessage, i int) error {
	var want []byte
	if encoder := key(i); encoder != nil {
		want, _ = encoder.Encode()
	}
	switch {
	case message.Offset != int64(i/partitions):
		return fmt.Errorf("record %d: offset %d", i, message.Offset)
	case string(message.Key) != string(want) || (message.Key == nil) != (want == nil):
		return fmt.Errorf("record %d: key %q", i, message.Key)
	case string(message.Value) != value(i):
		return fmt.Errorf("record %d: value %q", i, message.Value)
	case message.Timestamp.UnixMilli() != timestampMs+int64(i):
		return fmt.Errorf("record %d: timestamp %v", i, message.Timestamp)
	case len(message.Headers) != 1 || string(message.Headers[0].Value) != strconv.Itoa(i):
		return fmt.Errorf("record %d: headers %v", i, message.Headers)
	}
	return nil
}

func (r run) committed(admin sarama.ClusterAdmin) (int64, error) {
	wanted := map[string][]int32{r.topic: {0, 1, 2}}
	offsets, err := admin.ListConsumerGroupOffsets(r.group, wanted)
	if err != nil {
		return 0, fmt.Errorf("fetch offsets: %w", err)
	}
	var total int64
	for _, block := range offsets.Blocks[r.topic] {
		if block.Err != sarama.ErrNoError {
			return 0, block.Err
		}
		total += block.Offset
	}
	return total, nil
}
