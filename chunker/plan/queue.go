package plan

// A Queue describes the requests of direct I/O. Data that does not stay in the page cache until it is read again
// gains nothing from it, but costs a copy, free pages for it, and the pages that it evicts.
type Queue struct {
	Requests int // half of them read; 0: no direct I/O
	Bytes    int // memory of each

	Input, Output bool // use direct I/O, like temporary files
}

const (
	// RequestBytes is the memory of a request. Fewer than leastRequests do not keep a disk busy, and mostRequests
	// keep any disk busy. They get at most the share of the memory of which queueShare is the denominator. If that
	// is little, they become smaller, but each holds a block of a part.
	RequestBytes      = 1 << 20
	leastRequestBytes = MaxUnitBytes
	leastRequests     = 16
	mostRequests      = 48
	queueShare        = 16

	// cacheShare is the denominator of the share of the memory beyond the limit that temporary data may fill
	// without being evicted before it is read back. The input and the output pass through the rest.
	cacheShare = 2
)

// queue returns the requests for temporary files, the input and the output, if the page cache is too small. Whether
// the input is in the page cache is decided by of.
func (f *Facts) queue(bytes int64) Queue {
	q := Queue{Bytes: RequestBytes}
	for q.Bytes > leastRequestBytes && bytes/queueShare < mostRequests*int64(q.Bytes) {
		q.Bytes /= 2
	}
	q.Requests = int(min(bytes/queueShare/int64(q.Bytes), mostRequests))
	if !f.leavesCache() || q.Requests < leastRequests {
		return Queue{}
	}
	q.Input = f.onHost() && f.Seekable && !f.Remote && !f.InPlace
	q.Output = f.onHost() && f.Checkpoint == nil && !f.Output.Set && f.ReservedBytes() > 0
	return q
}

// of returns the part of the queue that a strategy uses.
func (q Queue) of(s Strategy, cold bool) Queue {
	p := s.Properties()
	q.Input = q.Input && cold && p.DirectIO
	q.Output = q.Output && p.DirectIO
	return q
}

func (q *Queue) memory() int64 { return int64(q.Requests) * int64(q.Bytes) }

// leavesCache reports whether the page cache is too small to hold spill until it is read back.
func (f *Facts) leavesCache() bool {
	beside := max(f.Memory-f.Request.MemoryBytes, 0)
	return f.Spill.OnDisk && f.Memory > 0 && f.bytes() > beside/cacheShare
}
