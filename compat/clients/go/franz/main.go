// franz-go as a program.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"odradek/compat/lines"
)

type client struct{ bootstrap string }

func main() { lines.Serve(client{os.Args[1]}) }

func (client) Refusal(err error) (int, bool) {
	var refused *kerr.Error
	if !errors.As(err, &refused) {
		return 0, false
	}
	return int(refused.Code), true
}

func (c client) Write(asked lines.Request) ([]int64, error) {
	producer, err := kgo.NewClient(c.producerOptions(asked)...)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	records := make([]*kgo.Record, len(asked.Records))
	for i, told := range asked.Records {
		records[i] = &kgo.Record{
			Topic: asked.Topic, Key: told.Key, Value: told.Value, Timestamp: told.Timestamp(),
		}
		for _, each := range told.Headers {
			records[i].Headers = append(records[i].Headers, kgo.RecordHeader{Key: each.Name, Value: each.Value})
		}
		if told.Partition != nil {
			records[i].Partition = *told.Partition
		}
	}
	// Not RecordDeliveryTimeout: it counts from the record's timestamp, which may be years ago.
	timeout, cancel := context.WithTimeout(context.Background(), lines.WaitMax)
	defer cancel()
	offsets := []int64{}
	for _, result := range producer.ProduceSync(timeout, records...) {
		if result.Err != nil {
			return nil, result.Err
		}
		offsets = append(offsets, result.Record.Offset)
	}
	return offsets, nil
}

func (c client) producerOptions(asked lines.Request) []kgo.Opt {
	codecs := map[string]kgo.CompressionCodec{
		"none":   kgo.NoCompression(),
		"gzip":   kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(),
		"lz4":    kgo.Lz4Compression(),
		"zstd":   kgo.ZstdCompression(),
	}
	acks := map[int]kgo.Acks{0: kgo.NoAck(), 1: kgo.LeaderAck(), -1: kgo.AllISRAcks()}
	options := []kgo.Opt{
		kgo.SeedBrokers(c.bootstrap),
		kgo.RequiredAcks(acks[asked.Acks]),
		kgo.ProducerBatchCompression(codecs[asked.Codec]),
		kgo.ProducerLinger(lines.Linger),
		kgo.ProducerBatchMaxBytes(int32(asked.BatchBytesMax())),
		kgo.AllowAutoTopicCreation(),
	}
	if !asked.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	if asked.ChoosesPartitions() {
		options = append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	return options
}

func (c client) Read(asked lines.Request) ([]lines.Record, error) {
	start := kgo.NewOffset().At(asked.Offset)
	isolation := kgo.ReadUncommitted()
	if asked.CommittedOnly {
		isolation = kgo.ReadCommitted()
	}
	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(c.bootstrap),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{asked.Topic: {asked.Partition: start}}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(isolation),
		kgo.FetchMaxPartitionBytes(lines.RequestBytesMax),
		kgo.FetchMaxBytes(lines.RequestBytesMax),
	)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	timeout, cancel := context.WithTimeout(context.Background(), lines.WaitMax)
	defer cancel()
	records := []lines.Record{}
	for len(records) < asked.Count && timeout.Err() == nil {
		polled := consumer.PollRecords(timeout, asked.Count-len(records))
		for _, failed := range polled.Errors() {
			if !errors.Is(failed.Err, context.DeadlineExceeded) {
				return nil, failed.Err
			}
		}
		polled.EachRecord(func(each *kgo.Record) { records = append(records, tell(each)) })
	}
	return records, nil
}

func tell(each *kgo.Record) lines.Record {
	timestampMs := each.Timestamp.UnixMilli()
	told := lines.Record{
		Key: each.Key, Value: each.Value, Headers: []lines.Header{},
		TimestampMs: &timestampMs, Partition: &each.Partition, Offset: each.Offset,
	}
	for _, one := range each.Headers {
		told.Headers = append(told.Headers, lines.Header{Name: one.Key, Value: one.Value})
	}
	return told
}

func (c client) Range(asked lines.Request) (int64, int64, error) {
	first, err := c.listed(asked, (*kadm.Client).ListStartOffsets)
	if err != nil {
		return 0, 0, err
	}
	end, err := c.listed(asked, (*kadm.Client).ListEndOffsets)
	return first.Offset, end.Offset, err
}

func (c client) OffsetAt(asked lines.Request) (int64, error) {
	byTime := func(admin *kadm.Client, ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
		return admin.ListOffsetsAfterMilli(ctx, asked.TimestampMs, topics...)
	}
	found, err := c.listed(asked, byTime)
	// If there is no such record, kadm returns the end without a timestamp.
	if found.Timestamp < 0 {
		return -1, err
	}
	return found.Offset, err
}

type lister func(*kadm.Client, context.Context, ...string) (kadm.ListedOffsets, error)

func (c client) listed(asked lines.Request, list lister) (kadm.ListedOffset, error) {
	connected, err := kgo.NewClient(kgo.SeedBrokers(c.bootstrap))
	if err != nil {
		return kadm.ListedOffset{}, err
	}
	defer connected.Close()
	timeout, cancel := context.WithTimeout(context.Background(), lines.WaitMax)
	defer cancel()
	offsets, err := list(kadm.NewClient(connected), timeout, asked.Topic)
	if err != nil {
		return kadm.ListedOffset{}, err
	}
	found, ok := offsets.Lookup(asked.Topic, asked.Partition)
	if !ok {
		return found, fmt.Errorf("no partition %d", asked.Partition)
	}
	return found, found.Err
}
