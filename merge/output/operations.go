package output

import "github.com/extsort/extsort/internal/safely"

// operations performs the operations on the file system that an output needs. Tests make some of
// them fail.
type operations struct {
	fault func(operation string) error
}

// newOperations returns operations that call fault before each of them. fault may be nil.
func newOperations(fault func(operation string) error) operations {
	if fault == nil {
		fault = func(string) error { return nil }
	}
	return operations{fault}
}

// attempt performs an operation, unless the fault hook returns an error for it. It converts a
// panic to an error, so that the caller removes the unfinished output.
func attempt[T any](ops operations, operation string, f func() (T, error)) (result T, err error) {
	err = safely.Call(func() (err error) {
		if err := ops.fault(operation); err != nil {
			return err
		}
		result, err = f()
		return err
	})
	return result, err
}

// perform is attempt for an operation without a result.
func (ops operations) perform(operation string, f func() error) error {
	_, err := attempt(ops, operation, func() (struct{}, error) { return struct{}{}, f() })
	return err
}
