package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"odradek/compat/lines"
)

const joinBackoff = 100 * time.Millisecond

// member takes part with a ConsumerGroup and reads each partition with a Reader of its own, since a Reader that
// joins the group by itself does not report its assignment.
type member struct {
	client     client
	group      *kafka.ConsumerGroup
	inbox      *lines.Inbox
	ended      chan struct{}
	topic      string
	mutex      sync.Mutex
	generation *kafka.Generation
	polled     map[int]int64 // the position behind what was polled, by partition
}

func (c client) Join(asked lines.Request) (lines.Member, error) {
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID:                asked.Group,
		Brokers:           []string{c.bootstrap},
		Topics:            []string{asked.Topic},
		GroupBalancers:    []kafka.GroupBalancer{kafka.RangeGroupBalancer{}},
		SessionTimeout:    lines.SessionTimeout,
		HeartbeatInterval: lines.HeartbeatInterval,
		JoinGroupBackoff:  joinBackoff,
		StartOffset:       kafka.FirstOffset,
	})
	if err != nil {
		return nil, err
	}
	joined := &member{client: c, group: group, inbox: lines.NewInbox(), ended: make(chan struct{}), topic: asked.Topic}
	go joined.follow()
	return joined, nil
}

// follow goes from generation to generation.
func (m *member) follow() {
	defer close(m.ended)
	for {
		generation, err := m.group.Next(context.Background())
		if errors.Is(err, kafka.ErrGroupClosed) {
			return
		}
		if err != nil {
			continue // kafka-go tells of each try that failed, and tries again
		}
		m.mutex.Lock()
		m.generation, m.polled = generation, map[int]int64{}
		m.mutex.Unlock()
		for _, each := range generation.Assignments[m.topic] {
			generation.Start(func(ctx context.Context) { m.consume(ctx, each) })
		}
	}
}

// consume reads a partition for as long as its generation lasts.
func (m *member) consume(ctx context.Context, assigned kafka.PartitionAssignment) {
	m.inbox.Assign(int32(assigned.ID))
	defer m.inbox.Revoke(int32(assigned.ID))
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:   []string{m.client.bootstrap},
		Topic:     m.topic,
		Partition: assigned.ID,
		MaxBytes:  lines.FetchBytesMax,
		MaxWait:   fetchWait,
	})
	defer reader.Close()
	if err := reader.SetOffset(assigned.Offset); err != nil {
		m.inbox.Fail(err)
		return
	}
	for {
		each, err := reader.ReadMessage(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			m.inbox.Fail(err)
			return
		}
		m.inbox.Put(tell(each))
	}
}

func (m *member) Poll(timeout time.Duration) ([]lines.Record, []int32, error) {
	read, assigned, err := m.inbox.Take(timeout)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, each := range read {
		m.polled[int(*each.Partition)] = each.Offset + 1
	}
	return read, assigned, err
}

func (m *member) Commit() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.generation == nil {
		return errors.New("a commit before the first generation")
	}
	return m.generation.CommitOffsets(map[string]map[int]int64{m.topic: m.polled})
}

func (m *member) Leave() error {
	err := m.group.Close()
	<-m.ended
	return err
}
