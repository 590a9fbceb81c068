//go:build opencl && cgo && linux

package cl

import (
	"runtime"
	"time"

	binding "github.com/jgillich/go-opencl/cl"
)

// Event stands for a command that was queued. A nil Event is one that is complete. Events are the only objects
// that the garbage collector may release.
type Event struct {
	raw *binding.Event
	op  string
}

func newEvent(op string, raw *binding.Event, err error) (*Event, error) {
	if err != nil {
		return nil, failure(op, err)
	}
	return &Event{raw: raw, op: op}, nil
}

// rawEvents drops the nil events; it returns nil, never an empty list, because the binding panics on one.
func rawEvents(events []*Event) []*binding.Event {
	var list []*binding.Event
	for _, e := range events {
		if e != nil {
			list = append(list, e.raw)
		}
	}
	return list
}

// failedDependency is the status of an event whose command did not run because one that it waited for had failed.
const failedDependency = -14

// Wait returns when all events are complete, with the error of the first that failed.
func Wait(events ...*Event) error {
	list := rawEvents(events)
	if list == nil {
		return nil
	}
	err := binding.WaitForEvents(list)
	runtime.KeepAlive(list)
	if err == nil {
		return nil
	}
	for _, e := range events { // the call says only that one of them failed; the event says why
		if e == nil {
			continue
		}
		if status := eventStatus(e.raw); status < 0 && status != failedDependency {
			return failure(e.op, asError(status))
		}
	}
	return failure("wait for the device", err)
}

// Times are when the command started and ended on the device's clock. REQUIRES: the event was waited for.
func (e *Event) Times() (start, end time.Duration, err error) {
	if e == nil {
		return 0, 0, nil
	}
	from, err := e.raw.GetEventProfilingInfo(binding.ProfilingInfoCommandStart)
	if err != nil {
		return 0, 0, failure("time of "+e.op, err)
	}
	to, err := e.raw.GetEventProfilingInfo(binding.ProfilingInfoCommandEnd)
	runtime.KeepAlive(e)
	return time.Duration(from), time.Duration(to), failure("time of "+e.op, err)
}
