package lines

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// The settings of all members, as in compat/members/model.py.
const (
	SessionTimeout    = 10 * time.Second
	HeartbeatInterval = 300 * time.Millisecond
	CooperativeSticky = "cooperative-sticky"
)

// Membership is how a member takes part.
type Membership struct {
	Group       string
	Strategy    string
	InstanceID  *string `json:"instance_id"`
	NewProtocol bool    `json:"new_protocol"`
}

// Member is one consumer in a group.
type Member interface {
	// Poll takes part for about that time, or until records come; it returns them and the assigned partitions.
	Poll(timeout time.Duration) (read []Record, assigned []int32, err error)
	// Commit commits the positions behind all records that Poll returned.
	Commit() error
	Leave() error
}

// members are the ones that have joined, by the names that the suite gives them.
type members map[string]Member

func (joined members) perform(client Client, asked Request) (map[string]any, error) {
	if asked.Do == "join" {
		member, err := client.Join(asked)
		if err == nil {
			joined[asked.Member] = member
		}
		return map[string]any{}, err
	}
	member, ok := joined[asked.Member]
	if !ok {
		return nil, fmt.Errorf("%q has not joined", asked.Member)
	}
	switch asked.Do {
	case "poll":
		read, assigned, err := member.Poll(time.Duration(asked.TimeoutMs) * time.Millisecond)
		// Empty, not null.
		return map[string]any{"records": append([]Record{}, read...), "assigned": append([]int32{}, assigned...)}, err
	case "commit":
		return map[string]any{}, member.Commit()
	case "leave":
		delete(joined, asked.Member)
		return map[string]any{}, member.Leave()
	}
	return nil, fmt.Errorf("a member cannot %q", asked.Do)
}

// Inbox is for libraries that push records: it keeps them until they are polled, and the assigned partitions.
type Inbox struct {
	mutex    sync.Mutex
	arrived  chan struct{} // holds one token when there is something to poll
	records  []Record
	assigned map[int32]bool
	failure  error
}

// NewInbox makes an empty inbox.
func NewInbox() *Inbox {
	return &Inbox{arrived: make(chan struct{}, 1), assigned: map[int32]bool{}}
}

// Put adds a record.
func (inbox *Inbox) Put(record Record) {
	inbox.change(func() { inbox.records = append(inbox.records, record) })
}

// Fail makes the polls fail from now on.
func (inbox *Inbox) Fail(err error) { inbox.change(func() { inbox.failure = err }) }

// Assign adds an assigned partition; its earlier records that were not polled will come again.
func (inbox *Inbox) Assign(partition int32) {
	inbox.mutex.Lock()
	defer inbox.mutex.Unlock()
	inbox.assigned[partition] = true
	inbox.records = slices.DeleteFunc(inbox.records, func(each Record) bool { return *each.Partition == partition })
}

// Revoke removes a partition that is no longer assigned.
func (inbox *Inbox) Revoke(partition int32) {
	inbox.mutex.Lock()
	defer inbox.mutex.Unlock()
	delete(inbox.assigned, partition)
}

// Take waits for records, at most that long, and returns all of them.
func (inbox *Inbox) Take(timeout time.Duration) (read []Record, assigned []int32, err error) {
	select {
	case <-inbox.arrived:
	case <-time.After(timeout):
	}
	inbox.mutex.Lock()
	defer inbox.mutex.Unlock()
	read, inbox.records = inbox.records, nil
	for partition := range inbox.assigned {
		assigned = append(assigned, partition)
	}
	return read, assigned, inbox.failure
}

func (inbox *Inbox) change(how func()) {
	inbox.mutex.Lock()
	defer inbox.mutex.Unlock()
	how()
	select {
	case inbox.arrived <- struct{}{}:
	default:
	}
}
