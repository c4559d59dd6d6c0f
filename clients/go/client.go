// Package catalogql is a client for catalogql: typed queries over served catalogs of the Operator Lifecycle Manager.
//
// The functions in generated.go are made by genqlient from the documents of the Rust client; Client is what they send
// their requests by. Packages and bundles that fill more than a page are read by AllPackages and AllBundles.
package catalogql

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/Khan/genqlient/graphql"
)

const (
	// MaxGetBytes is the length of a URL above which a request is a POST.
	MaxGetBytes = 8_000
	// MaxResponseBytes is the size of a response above which it is an error.
	MaxResponseBytes = 64 << 20
	// MaxRetries is the number of times that a request is repeated while the server is busy or away.
	MaxRetries = 3
	// MaxRetryWait is the longest wait before a repetition.
	MaxRetryWait = 10 * time.Second
	// maxCached is the number of responses that a client keeps with their entity tags.
	maxCached = 256
	// pageSize is the size of a page, which is the server's limit.
	pageSize = 500
)

// ErrChanged says that the content of a catalog changed while its pages were read: read them again.
var ErrChanged = errors.New("the content of the catalogs changed while it was read")

// Error is a request that the server refused.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is stable, such as COST_ESTIMATED_TOO_EXPENSIVE; empty where a proxy has answered.
	Code string
	// Message says in English what is wrong.
	Message string
}

func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("the server refused the request: %s (HTTP %d)", e.Message, e.Status)
	}
	return fmt.Sprintf("the server refused the request: %s (%s)", e.Message, e.Code)
}

// Client sends requests to one server. It may be used by several goroutines.
type Client struct {
	endpoint string
	http     *http.Client
	token    func() (string, error)

	mutex  sync.Mutex
	cached map[string]response
}

var _ graphql.Client = (*Client)(nil)

type response struct {
	etag string
	body []byte
}

// Option changes a client that New makes.
type Option func(*Client)

// WithHTTPClient sends requests by this client, for example with certificate authorities of its own.
func WithHTTPClient(client *http.Client) Option {
	return func(c *Client) { c.http = client }
}

// WithToken sends the bearer token that the function returns for each request.
func WithToken(token func() (string, error)) Option {
	return func(c *Client) { c.token = token }
}

// New makes a client for the server at this URL, such as https://catalogql.example.com. It connects to nothing.
func New(endpoint string, options ...Option) (*Client, error) {
	parsed, err := url.Parse(endpoint)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
		return nil, fmt.Errorf("cannot use %q as the URL of a server: write https://HOST[:PORT][/PREFIX]", endpoint)
	}
	path := strings.TrimSuffix(strings.TrimRight(parsed.Path, "/"), "/graphql")
	parsed.Path, parsed.RawQuery = path+"/graphql", ""
	client := &Client{
		endpoint: parsed.String(),
		http:     &http.Client{Timeout: 30 * time.Second},
		cached:   map[string]response{},
	}
	for _, option := range options {
		option(client)
	}
	return client, nil
}

// MakeRequest sends a request of a generated function: by GET, with the entity tag of an earlier response. A long one is a
// POST, whose response is not kept.
func (c *Client) MakeRequest(ctx context.Context, request *graphql.Request, into *graphql.Response) error {
	query := url.Values{"query": {strings.Join(strings.Fields(request.Query), " ")}}
	if request.OpName != "" {
		query.Set("operationName", request.OpName)
	}
	members := map[string]any{"query": query.Get("query"), "operationName": request.OpName}
	if request.Variables != nil {
		variables, err := withoutNulls(request.Variables)
		if err != nil {
			return fmt.Errorf("cannot encode variables: %w", err)
		}
		query.Set("variables", string(variables))
		members["variables"] = json.RawMessage(variables)
	}
	target, posted := c.endpoint+"?"+query.Encode(), []byte(nil)
	if len(target) > MaxGetBytes {
		encoded, err := json.Marshal(members)
		if err != nil {
			return fmt.Errorf("cannot encode the request: %w", err)
		}
		target, posted = c.endpoint, encoded
	}
	body, err := c.ask(ctx, target, posted)
	if err != nil {
		return err
	}
	var refusal refusal
	if json.Unmarshal(body, &refusal) == nil && len(refusal.Errors) > 0 {
		return refusal.error(http.StatusOK)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("cannot read the response of %s: %w", c.endpoint, err)
	}
	return nil
}

// withoutNulls encodes variables; the server takes those that are absent as not given.
func withoutNulls(variables any) ([]byte, error) {
	encoded, err := json.Marshal(variables)
	if err != nil {
		return nil, err
	}
	var members any
	if err := json.Unmarshal(encoded, &members); err != nil {
		return nil, err
	}
	return json.Marshal(pruned(members))
}

func pruned(value any) any {
	object, isObject := value.(map[string]any)
	if !isObject {
		return value
	}
	for name, member := range object {
		if member == nil {
			delete(object, name)
		} else {
			object[name] = pruned(member)
		}
	}
	return object
}

// ask returns the body of a response, which may be a cached one that the server confirms. A request with a body is a POST.
func (c *Client) ask(ctx context.Context, target string, posted []byte) ([]byte, error) {
	for attempt := 0; ; attempt++ {
		body, wait, err := c.try(ctx, target, posted, attempt)
		if wait == 0 || wait > MaxRetryWait || attempt == MaxRetries {
			return body, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try sends a request once. The wait is that before the next attempt; 0 if there should be none.
func (c *Client) try(ctx context.Context, target string, posted []byte, attempt int) ([]byte, time.Duration, error) {
	backoff := time.Duration(float64(100*time.Millisecond<<attempt) * (0.5 + rand.Float64()/2))
	method := http.MethodGet
	if posted != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(posted))
	if err != nil {
		return nil, 0, err
	}
	if posted != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", "application/graphql-response+json")
	if c.token != nil {
		token, err := c.token()
		if err != nil {
			return nil, 0, fmt.Errorf("cannot get a token: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// Another token may be another caller, who may see other catalogs.
	key := request.Header.Get("Authorization") + " " + target
	known, isKnown := c.lookUp(key)
	isKnown = isKnown && posted == nil
	if isKnown {
		request.Header.Set("If-None-Match", known.etag)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			backoff = 0
		}
		return nil, backoff, fmt.Errorf("cannot reach %s: %w", c.endpoint, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotModified && isKnown {
		return known.body, 0, nil
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, MaxResponseBytes+1))
	switch {
	case err != nil:
		return nil, backoff, fmt.Errorf("cannot read the response of %s: %w", c.endpoint, err)
	case len(body) > MaxResponseBytes:
		return nil, 0, fmt.Errorf("the response of %s has more than %d bytes", c.endpoint, MaxResponseBytes)
	case answer.StatusCode == http.StatusOK:
		if posted == nil {
			c.keep(key, response{etag: answer.Header.Get("ETag"), body: body})
		}
		return body, 0, nil
	}
	return nil, retryWait(answer, backoff), refused(answer.StatusCode, body)
}

// retryWait returns how long to wait for a server that is busy or away; 0 for another refusal.
func retryWait(answer *http.Response, backoff time.Duration) time.Duration {
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
		if err != nil {
			return backoff
		}
		return max(backoff, time.Duration(seconds)*time.Second)
	}
	return 0
}

func (c *Client) lookUp(key string) (response, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	known, isKnown := c.cached[key]
	return known, isKnown
}

func (c *Client) keep(key string, kept response) {
	if kept.etag == "" {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.cached) >= maxCached {
		// Any one: what is asked often is soon there again.
		for other := range c.cached {
			delete(c.cached, other)
			break
		}
	}
	c.cached[key] = kept
}

// refusal is a response with errors.
type refusal struct {
	Errors []struct {
		Message    string
		Extensions struct{ Code string }
	}
	// Message is what an API server says in front of the server.
	Message string
}

func (r *refusal) error(status int) error {
	first := r.Errors[0]
	if first.Extensions.Code == "CATALOG_CHANGED" {
		return ErrChanged
	}
	return &Error{Status: status, Code: first.Extensions.Code, Message: first.Message}
}

func refused(status int, body []byte) error {
	var refusal refusal
	if json.Unmarshal(body, &refusal) == nil {
		if len(refusal.Errors) > 0 {
			return refusal.error(status)
		}
		if refusal.Message != "" {
			return &Error{Status: status, Message: refusal.Message}
		}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	return &Error{Status: status, Message: first}
}
