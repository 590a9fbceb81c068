// Package safely runs goroutines whose panics become errors.
//
// An unrecovered panic ends the whole process, and only the goroutine that panics can recover it.
// A program that embeds the library could not protect itself from a bug in one of our workers. So
// every goroutine of the library runs its work with Call or in a Group; a test in
// internal/conventions checks that.
package safely

import (
	"context"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// A PanicError is a panic that was recovered: a bug of this library, or of a function that its
// caller passed to it.
type PanicError struct {
	Function string // the function of the caller that panicked; "": a function of this library
	Value    any    // the argument of panic
	Stack    []byte // the stack of the goroutine that panicked, as debug.Stack formats it
}

func (e *PanicError) Error() string {
	if e.Function != "" {
		return fmt.Sprintf("%s panicked: %v", e.Function, e.Value)
	}
	return fmt.Sprintf("internal error: %v (please report it with its stack)", e.Value)
}

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Call calls f and returns its error. If f panics, Call returns a *PanicError.
func Call(f func() error) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case *PanicError:
			err = value
		default:
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return f()
}

// Attribute names the function of the caller that is about to be called. It is deferred before
// the call:
//
//	defer safely.Attribute("Progress")
//	progress(p)
//
// If the function panics, Attribute panics with a *PanicError, which Call returns.
func Attribute(function string) {
	switch value := recover().(type) {
	case nil:
	case *PanicError:
		panic(value)
	default:
		panic(&PanicError{Function: function, Value: value, Stack: debug.Stack()})
	}
}

// A Group is an errgroup.Group whose functions may panic: a panic becomes the error of its
// function. The zero value is a group without a context.
type Group struct {
	plain errgroup.Group
	bound *errgroup.Group // replaces plain in a group that has a context
}

// WithContext returns a group and a context that is cancelled by the first error of the group,
// and when Wait returns.
func WithContext(ctx context.Context) (*Group, context.Context) {
	bound, ctx := errgroup.WithContext(ctx)
	return &Group{bound: bound}, ctx
}

func (g *Group) group() *errgroup.Group {
	if g.bound != nil {
		return g.bound
	}
	return &g.plain
}

// Go calls f in a new goroutine. It waits as long as the group is at its limit.
func (g *Group) Go(f func() error) {
	g.group().Go(func() error { return Call(f) })
}

// TryGo calls f like Go and returns true. If the group is at its limit, it does nothing and returns
// false.
func (g *Group) TryGo(f func() error) bool {
	return g.group().TryGo(func() error { return Call(f) })
}

// SetLimit limits the number of goroutines of the group that run at the same time.
func (g *Group) SetLimit(n int) { g.group().SetLimit(n) }

// Wait waits until all functions have returned, and returns the first error.
func (g *Group) Wait() error { return g.group().Wait() }

// OnFailure calls f with the first error of the group that belongs to ctx, or with the cause if ctx
// is cancelled, unless f is nil. It is for functions that the context cannot end. stop must be called
// after Wait.
func OnFailure(ctx context.Context, f func(cause error)) (stop func()) {
	if f == nil {
		return func() {}
	}
	end := context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); cause != context.Canceled {
			f(cause)
		}
	})
	return func() { end() }
}
