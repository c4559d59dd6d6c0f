//! Whose requests are: certificates of several authorities, headers and tokens in each combination.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::{HeaderName, HeaderValue};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, date_time_ymd,
};
use rustls::pki_types::UnixTime;
use serde_json::json;

use super::*;
use crate::CACHE_TIME;

pub(crate) type Authority = CertifiedIssuer<'static, KeyPair>;

pub(crate) fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Authority::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn signed(
    authority: &Authority,
    name: &str,
    change: impl FnOnce(&mut CertificateParams),
) -> Arc<ClientCertificate> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.distinguished_name.push(DnType::CommonName, name);
    params
        .distinguished_name
        .push(DnType::OrganizationName, "team");
    change(&mut params);
    let certificate = params
        .signed_by(&KeyPair::generate().unwrap(), authority)
        .unwrap();
    Arc::new(ClientCertificate::new(&[certificate.der().clone()]).unwrap())
}

pub(crate) fn certificate(authority: &Authority, name: &str) -> Arc<ClientCertificate> {
    signed(authority, name, |_| ())
}

/// What kube-apiserver publishes with these authorities of users and of front proxies.
pub(crate) fn published(users: &Authority, proxies: &Authority) -> BTreeMap<String, String> {
    let entries = [
        ("client-ca-file", users.pem()),
        ("requestheader-client-ca-file", proxies.pem()),
        ("requestheader-allowed-names", json!(["proxy"]).to_string()),
        (
            "requestheader-username-headers",
            json!(["X-Remote-User"]).to_string(),
        ),
        (
            "requestheader-uid-headers",
            json!(["X-Remote-Uid"]).to_string(),
        ),
        (
            "requestheader-group-headers",
            json!(["X-Remote-Group"]).to_string(),
        ),
        (
            "requestheader-extra-headers-prefix",
            json!(["X-Remote-Extra-"]).to_string(),
        ),
    ];
    entries.map(|(key, value)| (key.to_owned(), value)).into()
}

/// An authenticator with authorities that can be replaced.
pub(crate) fn authenticator(
    data: &BTreeMap<String, String>,
) -> (watch::Sender<Option<Arc<Authorities>>>, Authenticator) {
    let (sender, receiver) = watch::channel(Some(Arc::new(Authorities::read(data).unwrap())));
    (sender, Authenticator(receiver))
}

fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
    let pair = |&(name, value)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    };
    all.iter().map(pair).collect()
}

/// Who sends a request, as text.
fn caller(
    authenticator: &Authenticator,
    headers: &HeaderMap,
    certificate: Option<&Arc<ClientCertificate>>,
) -> String {
    match authenticator.credentials(headers, certificate, Peer::default()) {
        Ok(RequestCredentials::None) => "nobody".to_owned(),
        Ok(RequestCredentials::Token(token, _)) => {
            format!("bearer of {}", String::from_utf8_lossy(&token))
        }
        Ok(RequestCredentials::User(user)) => user.user.name().to_owned(),
        Err(denied) => denied.to_string(),
    }
}

#[test]
fn the_first_credentials_that_are_somebodys_count() {
    let users = authority();
    let proxies = authority();
    let others = authority();
    let (_sender, authenticator) = authenticator(&published(&users, &proxies));
    let ann = certificate(&users, "ann");
    let proxy = certificate(&proxies, "proxy");
    let no_proxy = certificate(&proxies, "ann");
    let stranger = certificate(&others, "proxy");
    let expired = signed(&users, "ann", |params| {
        params.not_after = date_time_ymd(2020, 1, 1);
    });
    let of_server = signed(&users, "ann", |params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    });
    let named = ("x-remote-user", "bob");
    let token = ("authorization", "Bearer t");
    for (certificate, sent, expected) in [
        (None, &[][..], "nobody"),
        (None, &[("authorization", "Basic YTpi")], "nobody"),
        (None, &[token], "bearer of t"),
        (None, &[named], "nobody"),
        (None, &[named, token], "bearer of t"),
        (Some(&proxy), &[named], "bob"),
        (Some(&proxy), &[named, token], "bob"),
        (Some(&proxy), &[], "Unauthorized"),
        (Some(&proxy), &[("x-remote-user", "")], "Unauthorized"),
        (Some(&proxy), &[token], "bearer of t"),
        (Some(&no_proxy), &[named], "Unauthorized"),
        (Some(&ann), &[], "ann"),
        (Some(&ann), &[named], "ann"),
        (Some(&ann), &[token], "ann"),
        (Some(&stranger), &[named], "Unauthorized"),
        (Some(&stranger), &[token], "bearer of t"),
        (Some(&expired), &[], "Unauthorized"),
        (Some(&of_server), &[], "Unauthorized"),
        (
            Some(&proxy),
            &[named, ("impersonate-user", "eve")],
            "Impersonation is not supported",
        ),
        (
            None,
            &[("impersonate-extra-a", "b")],
            "Impersonation is not supported",
        ),
    ] {
        assert_eq!(
            caller(&authenticator, &headers(sent), certificate),
            expected,
            "{certificate:?} {sent:?}"
        );
    }
}

#[test]
fn a_front_proxy_says_everything_of_the_user() {
    let users = authority();
    let proxies = authority();
    let (_sender, authenticator) = authenticator(&published(&users, &proxies));
    let sent = headers(&[
        ("x-remote-user", "ann"),
        ("x-remote-uid", "7"),
        ("x-remote-group", "ops"),
        ("x-remote-group", "dev"),
        ("x-remote-extra-example.org%2fscopes", "a"),
        ("x-remote-extra-example.org%2fscopes", "b"),
    ]);
    let credentials = authenticator
        .credentials(
            &sent,
            Some(&certificate(&proxies, "proxy")),
            Peer::default(),
        )
        .unwrap();
    let RequestCredentials::User(CertifiedUser { user, .. }) = credentials else {
        panic!("{credentials:?}")
    };
    let text = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
    let crate::UserInfo {
        username,
        uid,
        groups,
        extra,
    } = user.info.clone();
    assert_eq!(
        (username.as_deref(), uid.as_deref()),
        (Some("ann"), Some("7"))
    );
    assert_eq!(groups, Some(text(&["ops", "dev", "system:authenticated"])));
    assert_eq!(
        extra,
        Some([("example.org/scopes".to_owned(), text(&["a", "b"]))].into())
    );

    let sent = HeaderMap::new();
    let credentials = authenticator
        .credentials(&sent, Some(&certificate(&users, "bob")), Peer::default())
        .unwrap();
    let RequestCredentials::User(CertifiedUser { user, .. }) = credentials else {
        panic!("{credentials:?}")
    };
    assert_eq!(
        user.info.groups,
        Some(text(&["team", "system:authenticated"]))
    );
    let id = &user.info.extra.as_ref().unwrap()["authentication.kubernetes.io/credential-id"][0];
    assert_eq!(
        (id.starts_with("X509SHA256="), id.len()),
        (true, 11 + 64),
        "{id}"
    );
}

#[test]
fn authorities_that_are_replaced_count_at_once_also_on_open_connections() {
    let old = authority();
    let new = authority();
    let (sender, authenticator) = authenticator(&published(&old, &old));
    let before = certificate(&old, "proxy");
    let after = certificate(&new, "proxy");
    let sent = headers(&[("x-remote-user", "ann")]);
    let callers = |authenticator: &Authenticator| {
        [&before, &after].map(|own| caller(authenticator, &sent, Some(own)))
    };
    assert_eq!(callers(&authenticator), ["ann", "Unauthorized"]);
    let mut both = published(&old, &old);
    both.insert(
        "requestheader-client-ca-file".to_owned(),
        old.pem() + &new.pem(),
    );
    sender.send_replace(Some(Arc::new(Authorities::read(&both).unwrap())));
    assert_eq!(callers(&authenticator), ["ann", "ann"]);
    sender.send_replace(Some(Arc::new(
        Authorities::read(&published(&new, &new)).unwrap(),
    )));
    assert_eq!(callers(&authenticator), ["Unauthorized", "ann"]);
    sender.send_replace(None);
    assert_eq!(callers(&authenticator), ["Unauthorized", "Unauthorized"]);
}

#[test]
fn a_user_is_verified_as_long_as_its_certificate_counts() {
    let users = authority();
    let proxies = authority();
    let new = authority();
    let (sender, authenticator) = authenticator(&published(&users, &proxies));
    let named = headers(&[("x-remote-user", "bob")]);
    let [ann, bob] = [
        (&users, "ann", HeaderMap::new()),
        (&proxies, "proxy", named),
    ]
    .map(|(authority, name, headers)| {
        authenticator
            .credentials(
                &headers,
                Some(&certificate(authority, name)),
                Peer::default(),
            )
            .unwrap()
            .into_owned()
    });
    let verified = || [&ann, &bob].map(RequestCredentials::verify);
    assert_eq!(verified(), [Ok(()), Ok(())]);
    sender.send_replace(Some(Arc::new(
        Authorities::read(&published(&users, &new)).unwrap(),
    )));
    assert_eq!(verified(), [Ok(()), Err(AuthError::Unauthenticated)]);
    sender.send_replace(Some(Arc::new(
        Authorities::read(&published(&new, &proxies)).unwrap(),
    )));
    assert_eq!(verified(), [Err(AuthError::Unauthenticated), Ok(())]);
    sender.send_replace(None);
    assert_eq!(
        verified(),
        [
            Err(AuthError::Unauthenticated),
            Err(AuthError::Unauthenticated)
        ]
    );
}

#[test]
fn a_certificate_that_expires_counts_no_longer_than_an_answer_is_believed() {
    let users = authority();
    let authorities = Arc::new(Authorities::read(&published(&users, &users)).unwrap());
    let ann = signed(&users, "ann", |params| {
        params.not_after = date_time_ymd(2030, 1, 1);
    });
    let start = Instant::now();
    let names = |after: Duration, year: u64| {
        let date = UnixTime::since_unix_epoch(Duration::from_secs((year - 1970) * 31_557_600));
        ann.verdict_at(&authorities, start + after, date)
            .user
            .is_some()
    };
    let before_end = CACHE_TIME.checked_sub(Duration::from_nanos(1)).unwrap();
    assert_eq!(
        [
            names(Duration::ZERO, 2029),
            names(before_end, 2031),
            names(CACHE_TIME, 2031)
        ],
        [true, true, false]
    );
}

#[test]
fn authorities_that_cannot_be_read_are_named() {
    let good = published(&authority(), &authority());
    for (key, value, expected) in [
        (
            "client-ca-file",
            "-----BEGIN CERTIFICATE-----\n?\n",
            "`client-ca-file` has no certificates in PEM format",
        ),
        (
            "requestheader-client-ca-file",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "`requestheader-client-ca-file` has no certificate of an authority",
        ),
        (
            "requestheader-allowed-names",
            "proxy",
            "`requestheader-allowed-names` is not a JSON array of texts",
        ),
    ] {
        let mut data = good.clone();
        data.insert(key.to_owned(), value.to_owned());
        assert_eq!(Authorities::read(&data).unwrap_err().to_string(), expected);
    }
    assert_eq!(
        Authorities::read(&BTreeMap::new()).unwrap().roots().len(),
        0
    );
    assert_eq!(Authorities::read(&good).unwrap().roots().len(), 2);
}

#[test]
fn the_scheme_of_a_token_may_be_in_any_case_and_others_are_none() {
    let token = |value: &'static str| {
        bearer_token(&headers(&[("authorization", value)])).map(<[u8]>::to_owned)
    };
    for value in ["Bearer abc", "bearer abc", "BEARER  abc "] {
        assert_eq!(token(value).as_deref(), Some(&b"abc"[..]), "{value}");
    }
    for value in ["Basic abc", "abc", "Bearerabc", "Bearer", "Bearer  "] {
        assert_eq!(token(value), None, "{value}");
    }
    assert_eq!(bearer_token(&HeaderMap::new()), None);
}
