// sarama as a program.
package main

import (
	"errors"
	"os"
	"time"

	"github.com/IBM/sarama"

	"odradek/compat/lines"
)

type client struct{ bootstrap []string }

func main() { lines.Serve(client{os.Args[1:]}) }

func settings() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V4_1_0_0
	return config
}

func (client) Refusal(err error) (int, bool) {
	var several sarama.ProducerErrors
	if errors.As(err, &several) && len(several) > 0 {
		err = several[0].Err
	}
	var refused sarama.KError
	if !errors.As(err, &refused) {
		return 0, false
	}
	return int(refused), true
}

func (c client) Write(asked lines.Request) ([]int64, error) {
	producer, err := sarama.NewSyncProducer(c.bootstrap, producerSettings(asked))
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	messages := make([]*sarama.ProducerMessage, len(asked.Records))
	for i, told := range asked.Records {
		messages[i] = message(asked.Topic, told)
	}
	if err := producer.SendMessages(messages); err != nil {
		return nil, err
	}
	offsets := make([]int64, len(messages))
	for i, each := range messages {
		offsets[i] = each.Offset
	}
	return offsets, nil
}

func producerSettings(asked lines.Request) *sarama.Config {
	codecs := map[string]sarama.CompressionCodec{
		"none":   sarama.CompressionNone,
		"gzip":   sarama.CompressionGZIP,
		"snappy": sarama.CompressionSnappy,
		"lz4":    sarama.CompressionLZ4,
		"zstd":   sarama.CompressionZSTD,
	}
	config := settings()
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.RequiredAcks(asked.Acks)
	config.Producer.Compression = codecs[asked.Codec]
	config.Producer.MaxMessageBytes = asked.BatchBytesMax()
	config.Producer.Flush.Frequency = lines.Linger
	config.Producer.Timeout = lines.WaitMax
	config.Producer.Idempotent = asked.Idempotent
	if asked.Idempotent {
		config.Net.MaxOpenRequests = 1 // sarama insists
	}
	if asked.ChoosesPartitions() {
		config.Producer.Partitioner = sarama.NewManualPartitioner
	}
	return config
}

func message(topic string, told lines.Record) *sarama.ProducerMessage {
	message := &sarama.ProducerMessage{Topic: topic, Timestamp: told.Timestamp()}
	if told.Key != nil {
		message.Key = sarama.ByteEncoder(told.Key)
	}
	if told.Value != nil {
		message.Value = sarama.ByteEncoder(told.Value)
	}
	if told.Partition != nil {
		message.Partition = *told.Partition
	}
	for _, each := range told.Headers {
		message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(each.Name), Value: each.Value})
	}
	return message
}

func (c client) Read(asked lines.Request) ([]lines.Record, error) {
	config := settings()
	config.Consumer.Return.Errors = true
	if asked.CommittedOnly {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	config.Consumer.Fetch.Default = lines.FetchBytesMax
	consumer, err := sarama.NewConsumer(c.bootstrap, config)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(asked.Topic, asked.Partition, asked.Offset)
	if err != nil {
		return nil, err
	}
	defer partition.AsyncClose()
	records := []lines.Record{}
	timeout := time.After(lines.WaitMax)
	for len(records) < asked.Count {
		select {
		case each := <-partition.Messages():
			records = append(records, tell(each))
		case failed := <-partition.Errors():
			return nil, failed.Err
		case <-timeout:
			return records, nil
		}
	}
	return records, nil
}

func tell(each *sarama.ConsumerMessage) lines.Record {
	timestampMs := each.Timestamp.UnixMilli()
	told := lines.Record{
		Key: each.Key, Value: each.Value, Headers: []lines.Header{},
		TimestampMs: &timestampMs, Partition: &each.Partition, Offset: each.Offset,
	}
	for _, one := range each.Headers {
		told.Headers = append(told.Headers, lines.Header{Name: string(one.Key), Value: one.Value})
	}
	return told
}

func (c client) Range(asked lines.Request) (int64, int64, error) {
	first, err := c.offset(asked, sarama.OffsetOldest)
	if err != nil {
		return 0, 0, err
	}
	end, err := c.offset(asked, sarama.OffsetNewest)
	return first, end, err
}

func (c client) OffsetAt(asked lines.Request) (int64, error) {
	return c.offset(asked, asked.TimestampMs)
}

func (c client) offset(asked lines.Request, at int64) (int64, error) {
	connected, err := sarama.NewClient(c.bootstrap, settings())
	if err != nil {
		return 0, err
	}
	defer connected.Close()
	return connected.GetOffset(asked.Topic, asked.Partition, at)
}
