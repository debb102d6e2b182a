package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"odradek/compat/lines"
)

// member is a client that consumes in a group.
type member struct {
	client   *kgo.Client
	topic    string
	mutex    sync.Mutex
	assigned map[int32]bool
}

func (c client) Join(asked lines.Request) (lines.Member, error) {
	joined := &member{topic: asked.Topic, assigned: map[int32]bool{}}
	options := []kgo.Opt{
		kgo.SeedBrokers(c.bootstrap),
		kgo.ConsumerGroup(asked.Group),
		kgo.ConsumeTopics(asked.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(joined.setAssigned(true)),
		kgo.OnPartitionsRevoked(joined.setAssigned(false)),
		kgo.OnPartitionsLost(joined.setAssigned(false)),
	}
	switch {
	case asked.NewProtocol:
		// The range balancer would ask the broker for its range assignor.
		options = append(options, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	case asked.Strategy == lines.CooperativeSticky:
		options = append(options, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	default:
		options = append(options, kgo.Balancers(kgo.RangeBalancer()))
	}
	if !asked.NewProtocol {
		options = append(
			options, kgo.SessionTimeout(lines.SessionTimeout), kgo.HeartbeatInterval(lines.HeartbeatInterval))
	}
	if asked.InstanceID != nil {
		options = append(options, kgo.InstanceID(*asked.InstanceID))
	}
	connected, err := kgo.NewClient(options...)
	joined.client = connected
	return joined, err
}

func (m *member) setAssigned(is bool) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, told map[string][]int32) {
		m.mutex.Lock()
		defer m.mutex.Unlock()
		for _, partition := range told[m.topic] {
			if is {
				m.assigned[partition] = true
			} else {
				delete(m.assigned, partition)
			}
		}
	}
}

func (m *member) Poll(timeout time.Duration) ([]lines.Record, []int32, error) {
	limit, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	polled := m.client.PollFetches(limit)
	for _, failed := range polled.Errors() {
		if !errors.Is(failed.Err, context.DeadlineExceeded) {
			return nil, nil, failed.Err
		}
	}
	var read []lines.Record
	polled.EachRecord(func(each *kgo.Record) { read = append(read, tell(each)) })
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var assigned []int32
	for partition := range m.assigned {
		assigned = append(assigned, partition)
	}
	return read, assigned, nil
}

func (m *member) Commit() error {
	limit, cancel := context.WithTimeout(context.Background(), lines.WaitMax)
	defer cancel()
	return m.client.CommitUncommittedOffsets(limit)
}

func (m *member) Leave() error {
	m.client.Close() // which keeps a static member in the group
	return nil
}
