// Stands in for a kubelet where there are no containers: it answers the API server's requests to forward a port of a pod, with
// the library of the kubelet and of container runtimes, and connects each to one host, whatever the pod.
//
// It prints its address on a line, and ends when its standard input does. For each connection that has ended, it appends the
// number of bytes that the host sent to FILE.
//
// usage: kubelet HOST [FILE]
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

// The kubelet's own: streaming-connection-idle-timeout, and the time to make both streams of a connection.
const (
	idleTimeout     = 4 * time.Hour
	creationTimeout = 30 * time.Second
)

// pods is the host that is taken for every pod.
type pods string

// PortForward copies between a stream and a connection until the host closes that.
func (host pods) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	connection, err := net.Dial("tcp", net.JoinHostPort(string(host), strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	defer connection.Close()
	go func() {
		// An end of what the client writes ends the connection, as the runtimes have it.
		defer connection.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(connection, stream)
	}()
	sent, err := io.Copy(stream, connection)
	record(sent)
	return err
}

// record appends a line to the file that the command line names.
func record(count int64) {
	if len(os.Args) < 3 {
		return
	}
	file, err := os.OpenFile(os.Args[2], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	// One write, so that lines do not mix.
	if _, err := fmt.Fprintln(file, count); err != nil {
		panic(err)
	}
}

func (host pods) forward(response http.ResponseWriter, request *http.Request) {
	options, err := portforward.NewV4Options(request)
	if err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(
		response, request, host, request.PathValue("pod"), "", options, idleTimeout, creationTimeout,
		portforward.SupportedProtocols)
}

// certificate makes one of its own; the API server verifies none unless it is told an authority of kubelets.
func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func main() {
	certificate, err := certificate()
	if err != nil {
		panic(err)
	}
	// HTTP/1.1 alone, whose connections can be upgraded.
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/portForward/{namespace}/{pod}", pods(os.Args[1]).forward)
	mux.HandleFunc("/portForward/{namespace}/{pod}/{uid}", pods(os.Args[1]).forward)
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	panic(http.Serve(listener, mux))
}
