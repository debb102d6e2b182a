// kafka-go as a program.
package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/segmentio/kafka-go"

	"odradek/compat/lines"
)

const (
	batchMessagesMax = 100_000
	createWait       = 50 * time.Millisecond
	fetchWait        = 100 * time.Millisecond
)

type client struct{ bootstrap string }

func main() { lines.Serve(client{os.Args[1]}) }

func (client) Refusal(err error) (int, bool) {
	var several kafka.WriteErrors
	if errors.As(err, &several) {
		for _, each := range several {
			if each != nil {
				err = each
				break
			}
		}
	}
	var refused kafka.Error
	if !errors.As(err, &refused) {
		return 0, false
	}
	return int(refused), true
}

func (c client) Write(asked lines.Request) ([]int64, error) {
	messages := make([]kafka.Message, len(asked.Records))
	for i, told := range asked.Records {
		messages[i] = kafka.Message{Key: told.Key, Value: told.Value, Time: told.Timestamp(), WriterData: i}
		for _, each := range told.Headers {
			messages[i].Headers = append(messages[i].Headers, kafka.Header{Key: each.Name, Value: each.Value})
		}
	}
	offsets := make([]int64, len(messages))
	writer := c.writer(asked)
	writer.Completion = func(written []kafka.Message, err error) {
		for _, each := range written {
			offsets[each.WriterData.(int)] = each.Offset
		}
	}
	timeout, cancel := context.WithTimeout(context.Background(), lines.WaitMax)
	defer cancel()
	err := writer.WriteMessages(timeout, messages...)
	// A topic that this request makes the broker create exists a moment later, and kafka-go does not wait.
	for errors.Is(err, kafka.UnknownTopicOrPartition) && timeout.Err() == nil {
		time.Sleep(createWait)
		err = writer.WriteMessages(timeout, messages...)
	}
	return offsets, errors.Join(err, writer.Close()) // only a closed writer has told all offsets
}

func (c client) writer(asked lines.Request) *kafka.Writer {
	codecs := map[string]kafka.Compression{
		"gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
	}
	writer := &kafka.Writer{
		Addr:                   kafka.TCP(c.bootstrap),
		Topic:                  asked.Topic,
		Balancer:               &kafka.Hash{},
		BatchSize:              batchMessagesMax,
		BatchBytes:             int64(asked.BatchBytesMax()),
		BatchTimeout:           lines.Linger,
		RequiredAcks:           kafka.RequiredAcks(asked.Acks),
		Compression:            codecs[asked.Codec],
		AllowAutoTopicCreation: true,
		Transport:              &kafka.Transport{},
	}
	if asked.ChoosesPartitions() {
		writer.Balancer = kafka.BalancerFunc(func(message kafka.Message, _ ...int) int {
			return int(*asked.Records[message.WriterData.(int)].Partition)
		})
	}
	return writer
}

func (c client) Read(asked lines.Request) ([]lines.Record, error) {
	isolation := kafka.ReadUncommitted
	if asked.CommittedOnly {
		isolation = kafka.ReadCommitted
	}
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:               []string{c.bootstrap},
		Topic:                 asked.Topic,
		Partition:             int(asked.Partition),
		MaxBytes:              lines.RequestBytesMax,
		MaxWait:               fetchWait,
		MaxAttempts:           1,
		IsolationLevel:        isolation,
		OffsetOutOfRangeError: true,
	})
	defer reader.Close()
	if err := reader.SetOffset(asked.Offset); err != nil {
		return nil, err
	}
	timeout, cancel := context.WithTimeout(context.Background(), lines.WaitMax)
	defer cancel()
	records := []lines.Record{}
	for len(records) < asked.Count {
		each, err := reader.ReadMessage(timeout)
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil {
			return nil, err
		}
		records = append(records, tell(each))
	}
	return records, nil
}

func tell(each kafka.Message) lines.Record {
	timestampMs, partition := each.Time.UnixMilli(), int32(each.Partition)
	told := lines.Record{
		Key: each.Key, Value: each.Value, Headers: []lines.Header{},
		TimestampMs: &timestampMs, Partition: &partition, Offset: each.Offset,
	}
	for _, one := range each.Headers {
		told.Headers = append(told.Headers, lines.Header{Name: one.Key, Value: one.Value})
	}
	return told
}

func (c client) Range(asked lines.Request) (int64, int64, error) {
	partition := int(asked.Partition)
	found, err := c.listed(asked, kafka.FirstOffsetOf(partition), kafka.LastOffsetOf(partition))
	return found.FirstOffset, found.LastOffset, err
}

func (c client) OffsetAt(asked lines.Request) (int64, error) {
	found, err := c.listed(asked, kafka.TimeOffsetOf(int(asked.Partition), time.UnixMilli(asked.TimestampMs)))
	for offset := range found.Offsets {
		return offset, err
	}
	return -1, err
}

func (c client) listed(asked lines.Request, wanted ...kafka.OffsetRequest) (kafka.PartitionOffsets, error) {
	connected := kafka.Client{Addr: kafka.TCP(c.bootstrap), Timeout: lines.WaitMax, Transport: &kafka.Transport{}}
	answer, err := connected.ListOffsets(
		context.Background(),
		&kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{asked.Topic: wanted}},
	)
	if err != nil {
		return kafka.PartitionOffsets{}, err
	}
	found := answer.Topics[asked.Topic][0]
	return found, found.Error
}
