package dist

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Status describes the progress of a plan.
type Status struct {
	Schema   int    `json:"schema"`
	Plan     string `json:"plan"`
	Runs     int    `json:"runs"`
	RunsLeft []int  `json:"runs_left"` // numbers of the unfinished runs
	Cut      bool   `json:"cut"`
	Parts    int    `json:"parts"`
	Left     []int  `json:"parts_left"`
	Complete bool   `json:"complete"` // the output is verified and has its name
	Next     string `json:"next"`     // next verb to run; "": none
}

// Status examines the records. It does not wait for files to become visible.
func (p *Plan) Status(ctx context.Context) (*Status, error) {
	s := &Status{
		Schema:   schema,
		Plan:     p.Fingerprint,
		Runs:     p.Runs,
		Parts:    p.Parts,
		RunsLeft: []int{},
		Left:     []int{},
	}
	_, err := p.manifest()
	if errors.Is(err, errDamaged) {
		s.Cut = true
		s.Next = "verify"
		return s, nil
	}
	if err == nil {
		s.Cut, s.Complete = true, !p.OneFile || !exists(p.partialName())
		if !s.Complete {
			s.Next = "verify"
		}
		return s, nil
	}
	if s.RunsLeft, err = p.unfinishedTasks(ctx, runs); err != nil {
		return nil, err
	}
	if s.Left, err = p.unfinishedTasks(ctx, parts); err != nil {
		return nil, err
	}
	s.Cut = isCut(ctx, p, 0, p.Parts)
	switch {
	case len(s.RunsLeft) > 0:
		s.Next = "run"
	case !s.Cut:
		s.Next = "cut"
	case len(s.Left) > 0:
		s.Next = "merge"
	default:
		s.Next = "verify"
	}
	return s, nil
}

func (p *Plan) unfinishedTasks(ctx context.Context, of kind) ([]int, error) {
	records := make([]*Record, of.tasks(p))
	err := runConcurrently(ctx, len(records), func(ctx context.Context, k int) (err error) {
		records[k], err = matchingRecord(ctx, p, of, k)
		return err
	})
	left := []int{}
	for k, r := range records {
		if r == nil {
			left = append(left, k)
		}
	}
	return left, err
}

// Ranges formats ascending numbers, for example as 0-3,7.
func Ranges(numbers []int) string {
	var words []string
	for i := 0; i < len(numbers); {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		word := fmt.Sprint(numbers[i])
		if end > i {
			word = fmt.Sprintf("%d-%d", numbers[i], numbers[end])
		}
		words = append(words, word)
		i = end + 1
	}
	return strings.Join(words, ",")
}
