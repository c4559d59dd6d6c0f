package catalogql_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	catalogql "catalogql.io/client"
)

func TestARequestIsAPostWhereItsURLWouldBeTooLong(t *testing.T) {
	var methods []string
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		methods = append(methods, request.Method)
		if request.Method == http.MethodPost {
			var body struct {
				Query, OperationName string
				Variables            struct{ Catalogs []string }
			}
			if err := json.NewDecoder(request.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			if request.URL.RawQuery != "" || body.OperationName != "Heads" || !strings.HasPrefix(body.Query, "query Heads") {
				t.Errorf("%q %q %.20q", request.URL.RawQuery, body.OperationName, body.Query)
			}
			if len(body.Variables.Catalogs) != 2_000 || request.Header.Get("If-None-Match") != "" {
				t.Errorf("%d catalogs, %v", len(body.Variables.Catalogs), request.Header)
			}
		}
		response.Header().Set("ETag", `"a"`)
		_, _ = response.Write([]byte(`{"data":{}}`))
	}))
	defer server.Close()
	client, err := catalogql.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, catalogs := range [][]string{nil, slices.Repeat([]string{"catalog"}, 2_000), slices.Repeat([]string{"catalog"}, 2_000)} {
		if _, err := catalogql.Heads(context.Background(), client, catalogs, "quillstore"); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"GET", "POST", "POST"}; !slices.Equal(methods, want) {
		t.Errorf("%v, not %v", methods, want)
	}
}
