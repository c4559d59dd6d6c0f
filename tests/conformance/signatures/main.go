// Command containers runs the libraries of podman and of go-containerregistry.
//
//	containers judge REGISTRIES-D    reads lines {"policy": FILE, "image": "HOST/REPOSITORY:TAG"} and prints what the policy
//	                                 says of the image, a line each: {"accepted": BOOL, "reason": TEXT}
//	containers sign KEY FROM TO      copies an image and signs it with a private key of sigstore, as `podman push` does
//	containers registry [FOLDER]     serves a registry that lists referrers, in memory, and prints its address; with a
//	                                 lookaside folder, it serves the signatures of it as OpenShift's registry does
//
// Of an index, the image of linux/amd64 is judged, as when it is pulled.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
	"go.podman.io/image/v5/copy"
	"go.podman.io/image/v5/docker"
	"go.podman.io/image/v5/image"
	"go.podman.io/image/v5/manifest"
	"go.podman.io/image/v5/signature"
	"go.podman.io/image/v5/types"
)

type question struct {
	Policy string `json:"policy"`
	Image  string `json:"image"`
}

type answer struct {
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason,omitempty"`
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "containers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "judge":
		return judgeAll(ctx, system(args[1]))
	case len(args) == 4 && args[0] == "sign":
		return sign(ctx, args[1], args[2], args[3])
	case len(args) == 1 && args[0] == "registry":
		return serve(listsReferrers())
	case len(args) == 2 && args[0] == "registry":
		return serve(storesSignatures(listsReferrers(), args[1]))
	}
	return errors.New("usage: containers judge REGISTRIES-D | sign KEY FROM TO | registry [FOLDER]")
}

func system(registriesD string) *types.SystemContext {
	return &types.SystemContext{
		RegistriesDirPath:           registriesD,
		SystemRegistriesConfPath:    "/dev/null",
		DockerInsecureSkipTLSVerify: types.OptionalBoolTrue,
		OSChoice:                    "linux",
		ArchitectureChoice:          "amd64",
	}
}

func judgeAll(ctx context.Context, system *types.SystemContext) error {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		given := answer{Accepted: true}
		if err := judge(ctx, system, asked); err != nil {
			given = answer{Reason: err.Error()}
		}
		if err := out.Encode(given); err != nil {
			return err
		}
	}
	return lines.Err()
}

// judge returns an error if the policy does not accept the image.
func judge(ctx context.Context, system *types.SystemContext, asked question) error {
	policy, err := signature.NewPolicyFromFile(asked.Policy)
	if err != nil {
		return err
	}
	decider, err := signature.NewPolicyContext(policy)
	if err != nil {
		return err
	}
	defer decider.Destroy()
	reference, err := docker.ParseReference("//" + asked.Image)
	if err != nil {
		return err
	}
	source, err := reference.NewImageSource(ctx, system)
	if err != nil {
		return err
	}
	defer source.Close()

	unparsed := image.UnparsedInstance(source, nil)
	bytes, kind, err := unparsed.Manifest(ctx)
	if err != nil {
		return err
	}
	if manifest.MIMETypeIsMultiImage(kind) {
		list, err := manifest.ListFromBlob(bytes, kind)
		if err != nil {
			return err
		}
		chosen, err := list.ChooseInstance(system)
		if err != nil {
			return err
		}
		unparsed = image.UnparsedInstance(source, &chosen)
	}
	_, err = decider.IsRunningImageAllowed(ctx, unparsed)
	return err
}

func sign(ctx context.Context, key, from, to string) error {
	folder, err := os.MkdirTemp("", "registries.d")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	lookup := []byte("default-docker:\n  use-sigstore-attachments: true\n")
	if err := os.WriteFile(folder+"/default.yaml", lookup, 0o600); err != nil {
		return err
	}
	accept, err := signature.NewPolicyContext(&signature.Policy{
		Default: signature.PolicyRequirements{signature.NewPRInsecureAcceptAnything()},
	})
	if err != nil {
		return err
	}
	defer accept.Destroy()
	source, err := docker.ParseReference("//" + from)
	if err != nil {
		return err
	}
	target, err := docker.ParseReference("//" + to)
	if err != nil {
		return err
	}
	_, err = copy.Image(ctx, accept, target, source, &copy.Options{
		SourceCtx:                        system(folder),
		DestinationCtx:                   system(folder),
		SignBySigstorePrivateKeyFile:     key,
		SignSigstorePrivateKeyPassphrase: []byte{},
	})
	return err
}

func serve(handler http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return http.Serve(listener, handler)
}

func listsReferrers() http.Handler {
	silent := registry.Logger(log.New(io.Discard, "", 0))
	return registry.New(silent, registry.WithReferrersSupport(true))
}

type storedSignature struct {
	Version int    `json:"schemaVersion"`
	Name    string `json:"name"`
	Type    string `json:"type"`
	Content []byte `json:"content"`
}

// storesSignatures adds the extension for signatures to a registry.
func storesSignatures(images http.Handler, folder string) http.Handler {
	signatures := http.NewServeMux()
	signatures.HandleFunc("GET /extensions/v2/{path...}", func(out http.ResponseWriter, asked *http.Request) {
		repository, digest, isList := strings.Cut(asked.PathValue("path"), "/signatures/")
		if !isList {
			http.NotFound(out, asked)
			return
		}
		// Signatures of other types are skipped.
		stored := []storedSignature{{Version: 1, Type: "atomic"}, {Version: 2, Type: "other"}}
		place := filepath.Join(folder, repository+"@"+strings.Replace(digest, ":", "=", 1))
		for number := 1; ; number++ {
			content, err := os.ReadFile(filepath.Join(place, fmt.Sprintf("signature-%d", number)))
			if err != nil {
				break
			}
			name := fmt.Sprintf("%s@%032x", digest, number)
			stored = append(stored, storedSignature{Version: 2, Name: name, Type: "atomic", Content: content})
		}
		_ = json.NewEncoder(out).Encode(map[string]any{"signatures": stored})
	})
	return http.HandlerFunc(func(out http.ResponseWriter, asked *http.Request) {
		out.Header().Set("X-Registry-Supports-Signatures", "1")
		if strings.HasPrefix(asked.URL.Path, "/extensions/") {
			signatures.ServeHTTP(out, asked)
			return
		}
		images.ServeHTTP(out, asked)
	})
}
