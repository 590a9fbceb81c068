//go:build !s3

package remote

import (
	"context"
	"errors"
	"fmt"
)

var errOff = errors.New("this extsort was built without s3: it reads and writes local files only " +
	"(build it with -tags s3, or take a release)")

// Open would open what is elsewhere.
func Open(_ context.Context, name string) (*Object, error) {
	return nil, fmt.Errorf("%s: %w", Shown(name), errOff)
}

// Forget would give up unfinished uploads.
func Forget(_ context.Context, prefix string) error {
	return fmt.Errorf("%s: %w", Shown(prefix), errOff)
}

// Create would begin an object.
func Create(_ context.Context, name string, _, _ int) (*Upload, error) {
	return nil, fmt.Errorf("create output %s: %w", Shown(name), errOff)
}
