package plan

// Queue is the requests by which a run reads and writes past the page cache. What does not stay there until it
// is read again gains nothing from it, and pays for a copy, for the pages that have to be found for it, and for
// those that are thrown out.
type Queue struct {
	Requests int // half of which read; 0: all goes through the page cache
	Bytes    int // of memory of each

	Input, Output bool // go by them, beside spill
}

const (
	// RequestBytes is the memory of a request. Fewer than leastRequests do not keep a disk busy, and
	// mostRequests do for any; they take a queueShare of the memory at most, and where that is little they get
	// smaller, but hold a block of a part.
	RequestBytes      = 1 << 20
	leastRequestBytes = MaxUnitBytes
	leastRequests     = 16
	mostRequests      = 48
	queueShare        = 16

	// cacheShare is the part of the memory beside the limit that spill may fill so that it is still there when
	// it is read back; the input and the output pass through the rest.
	cacheShare = 2
)

// queue is the requests of what the page cache does not hold: spill, and files beside it. Whether it holds the
// input, which it may as well, of tells.
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
