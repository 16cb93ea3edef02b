package countersign

import (
	"bytes"
	"fmt"
)

type response interface {
	StatusCode() int
	GetBody() []byte
}

// Response is what a call of Client.API answers that gives a T with the status 200.
type Response[T any] interface {
	response
	GetJSON200() *T
}

// createdResponse is Response with the status 201.
type createdResponse[T any] interface {
	response
	GetJSON201() *T
}

// Answer is what a call of Client.API gave, or an *Error if it gave no JSON:
//
//	app, err := countersign.Answer(c.API.InspectTheAppWithResponse(ctx))
func Answer[T any](res Response[T], err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return answered(res.GetJSON200(), res)
}

func created[T any](res createdResponse[T], err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return answered(res.GetJSON201(), res)
}

// answered is the body of an answer, or an error where the answer had none of that kind.
func answered[T any](body *T, res response) (*T, error) {
	if body == nil {
		text := bytes.TrimSpace(res.GetBody())
		return nil, &Error{Status: res.StatusCode(), Code: "unexpected_response", Message: fmt.Sprintf("the answer is not JSON: %.100q; is the address right?", text)}
	}
	return body, nil
}
