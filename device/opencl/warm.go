//go:build opencl && cgo && linux

package opencl

import "fmt"

// warm builds the kernels for sorting n keys of a kind, which a sorter does at its first sort, by sorting a few. It
// runs while records are read, so that the first real sort does not wait for the compiler.
func (s *session) warm(c chooser, kind KeyKind, n int64) error {
	const few = 64
	s.sorting.Lock()
	defer s.sorting.Unlock()
	name, p := c.choice(kind, n)
	key := fmt.Sprint(name, p, kind)
	if s.warmed[key] {
		return nil
	}
	sorter, err := s.sorter(name, p)
	if err != nil {
		return nil // parameters of another driver: Sort has a way out
	}
	a := allocator{ctx: s.ctx}
	m := deviceMemory{data: a.data(few, kind.WordBytes, kind.Values)}
	d := &m.data
	defer m.release()
	if a.err != nil {
		return a.err
	}
	if _, err := s.kernels.Fill(d.Keys, 0, 0, d.Keys.Bytes()); err != nil {
		return err
	}
	_ = sorter.Sort(s.kernels, d, 0, d.KeyBits) // what fails here fails again in Sort, which tells of it
	s.warmed[key] = true
	return s.kernels.Finish()
}
