// A provider of OpenID Connect that knows ann and bob, over TLS: the libraries are those of a certified one.
//
// usage: provider PORT CERTIFICATE KEY REDIRECT
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

type users map[string]*storage.User

func (all users) GetUserByID(id string) *storage.User { return all[id] }

func (all users) GetUserByUsername(name string) *storage.User { return all[name] }

func (all users) ExampleClientID() string { return "none" }

// Says in ID tokens who somebody is, as most providers do.
type client struct{ op.Client }

func (client) IDTokenUserinfoClaimsAssertion() bool { return true }

type store struct{ *storage.Storage }

func (own store) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	found, err := own.Storage.GetClientByClientID(ctx, id)
	return client{found}, err
}

func user(name string) *storage.User {
	return &storage.User{ID: name, Username: name, Password: name, Email: name + "@example.com", EmailVerified: true}
}

func main() {
	port, certificate, key, redirect := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	storage.RegisterClients(storage.WebClient("catalogql", "secret", redirect))
	everybody := users{"ann": user("ann"), "bob": user("bob")}
	provider := exampleop.SetupServer("https://localhost:"+port, store{storage.NewStorage(everybody)}, nil, false)
	log.Fatal(http.ListenAndServeTLS("127.0.0.1:"+port, certificate, key, provider))
}
