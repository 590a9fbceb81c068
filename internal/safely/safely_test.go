package safely

import (
	"context"
	"errors"
	"strings"
	"testing"
)

var errTest = errors.New("test")

func TestCall(t *testing.T) {
	if err := Call(func() error { return errTest }); err != errTest {
		t.Errorf("the error is %v", err)
	}

	err := Call(func() error { panic(errTest) })
	panicked, ok := errors.AsType[*PanicError](err)
	if !ok || !errors.Is(err, errTest) || !strings.Contains(err.Error(), "internal error: test") {
		t.Fatalf("a panic with an error is %v", err)
	}
	if !strings.Contains(string(panicked.Stack), "TestCall") {
		t.Errorf("the stack does not name the function that panicked: %s", panicked.Stack)
	}

	err = Call(func() error {
		var none []int
		_ = none[len(none)]
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("a panic of the runtime is %v", err)
	}
}

func TestGroup(t *testing.T) {
	group, ctx := WithContext(t.Context())
	group.Go(func() error { panic(errTest) })
	group.Go(func() error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if err := group.Wait(); !errors.Is(err, errTest) {
		t.Errorf("the error of the group is %v", err)
	}

	var plain Group
	plain.SetLimit(1)
	release := make(chan struct{})
	plain.Go(func() error {
		<-release
		panic(errTest)
	})
	if plain.TryGo(func() error { return nil }) {
		t.Error("a second function was started, and the limit is 1")
	}
	close(release)
	if err := plain.Wait(); !errors.Is(err, errTest) {
		t.Errorf("the error of the group is %v", err)
	}
}
