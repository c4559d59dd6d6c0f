# Varnish in front of replicas of catalogql that run with --shared-cache-max-age=2s. Replace the backends.
# docs/how-to/cache.md describes it.
vcl 4.1;

import directors;
import std;

probe ready {
  .url = "/readyz";
  .interval = 1s;
  .timeout = 1s;
  .window = 1;
  .threshold = 1;
  .initial = 1;
}

# A replica that answers no more is left after a second, or after more than the 5 seconds of --max-seconds.
backend one {
  .host = "127.0.0.1"; .port = "8081";
  .probe = ready;
  .connect_timeout = 1s;
  .first_byte_timeout = 6s;
}
backend two {
  .host = "127.0.0.1"; .port = "8082";
  .probe = ready;
  .connect_timeout = 1s;
  .first_byte_timeout = 6s;
}
backend three {
  .host = "127.0.0.1"; .port = "8083";
  .probe = ready;
  .connect_timeout = 1s;
  .first_byte_timeout = 6s;
}

acl purgers {
  "127.0.0.1";
}

sub vcl_init {
  new replicas = directors.round_robin();
  replicas.add_backend(one);
  replicas.add_backend(two);
  replicas.add_backend(three);
}

sub vcl_recv {
  set req.backend_hint = replicas.backend();

  # A new content need not wait for the end of --shared-cache-max-age: see docs/how-to/cache.md.
  if (req.method == "PURGE") {
    if (client.ip !~ purgers) {
      return (synth(403, "Not allowed to purge"));
    }
    # Responses of one catalog have the key catalog/NAME, those of several the key catalogs.
    if (req.http.Surrogate-Key) {
      ban("obj.http.Surrogate-Key == " + req.http.Surrogate-Key);
    } else {
      ban("req.url ~ .");
    }
    return (synth(200, "Purged"));
  }
  if (req.http.Upgrade) {
    return (pipe);
  }
  if (req.method != "GET" && req.method != "HEAD") {
    return (pass);
  }
  # Responses to requests with credentials depend on the rights of the caller. Event streams do not end, and whole
  # catalogs are large.
  if (req.http.Authorization || req.http.Cookie || req.http.Accept ~ "text/event-stream" || req.url ~ "^/catalogs/") {
    return (pass);
  }

  # A stored response may be of an earlier content than the client has seen.
  if (req.http.Catalogql-Minimum-Revision) {
    return (pass);
  }

  # Responses vary by this header, which clients write in many ways. Varnish itself unifies Accept-Encoding.
  if (req.http.Accept ~ "application/graphql-response\+json") {
    set req.http.Accept = "application/graphql-response+json";
  } else if (req.http.Accept ~ "text/html") {
    set req.http.Accept = "text/html";
  } else {
    set req.http.Accept = "application/json";
  }

  # Responses are kept for an hour, for the time in which no replica is ready. While one is, they are served for so long
  # after their end, during which Varnish asks for new ones.
  if (std.healthy(req.backend_hint)) {
    set req.grace = 2s;
  }
  return (hash);
}

sub vcl_backend_response {
  if (beresp.http.Cache-Control ~ "no-store|private") {
    set beresp.uncacheable = true;
    set beresp.ttl = 0s;
  } else {
    set beresp.grace = 1h;
    set beresp.keep = 1h;
  }
  # The replica is starting, or has too much to do: the next one is asked.
  if (beresp.status == 503 && bereq.retries < 2 && (bereq.method == "GET" || bereq.method == "HEAD")) {
    return (retry);
  }
  # An error does not replace a response.
  if (beresp.status >= 500 && bereq.is_bgfetch) {
    return (abandon);
  }
}

# A replica that ended is asked until the probe notices it. The next one is asked instead.
sub vcl_backend_error {
  if (bereq.retries < 2 && (bereq.method == "GET" || bereq.method == "HEAD")) {
    return (retry);
  }
}

sub vcl_pipe {
  set bereq.http.Upgrade = req.http.Upgrade;
  set bereq.http.Connection = req.http.Connection;
}

sub vcl_deliver {
  unset resp.http.Surrogate-Key;
  if (obj.hits > 0) {
    set resp.http.X-Cache = "HIT";
  } else {
    set resp.http.X-Cache = "MISS";
  }
}
