package sets

import "slices"

// marks contains one byte for each record of a stretch: 1 if the record is marked, 0 if not.
type marks []byte

// none returns memory for the marks of the records of a stretch. No record is marked.
func (m *marks) none(s *stretch) []byte {
	*m = slices.Grow((*m)[:0], len(s.keys))[:len(s.keys)]
	clear(*m)
	return *m
}

// markWide marks the records of a whose keys are in b, for keys that are longer than their
// prefixes. If once is set, each record of b marks at most one record, which had no mark before.
func markWide(ofA []byte, a, b *stretch, once bool) {
	i, j := 0, 0
	for i < len(a.keys) && j < len(b.keys) {
		if once && ofA[i] == 1 {
			i++
			continue
		}
		order := a.compare(i, b, j)
		if order > 0 {
			j++
			continue
		}
		if order == 0 {
			ofA[i] = 1
			if once {
				j++
			}
		}
		i++
	}
}
