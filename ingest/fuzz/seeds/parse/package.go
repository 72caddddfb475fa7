package a

import (
	b "example.com/x/b"
	. "fmt"
)

type T[K comparable] struct{ *b.C; f func(int) (string, error) `json:"f"` }

func (t *T[K]) M(xs ...int) (r int, err error) {
	defer func() { go t.f(1) }()
	for i, x := range xs { switch y := any(x).(type) { case int: r += y; default: _ = i } }
	req, _ := http.NewRequest("POST", "https://api.stripe.com/v1/charges", nil)
	return b.D(r)
}
