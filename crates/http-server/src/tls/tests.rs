//! Certificates that are read, refused and replaced.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use testing::Folders;

use super::*;

/// A certificate and its key, in PEM, which expires in this year.
fn pair(year: i32) -> (String, String) {
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.not_after = date_time_ymd(year, 1, 1);
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

fn files(folders: &Folders) -> TlsFiles {
    TlsFiles {
        certificate: folders.path("tls.crt"),
        private_key: folders.path("tls.key"),
    }
}

/// Writes a pair as the kubelet does: `tls.crt` leads to `..data/tls.crt`, and `..data` to a folder
/// that is replaced.
fn publish(folders: &Folders, folder: &str, (certificate, private_key): &(String, String)) {
    folders.write(&format!("{folder}/tls.crt"), certificate);
    folders.write(&format!("{folder}/tls.key"), private_key);
    symlink(folder, folders.path("..data_tmp")).unwrap();
    fs::rename(folders.path("..data_tmp"), folders.path("..data")).unwrap();
    for name in ["tls.crt", "tls.key"] {
        let _ = symlink(Path::new("..data").join(name), folders.path(name));
    }
}

/// When a certificate expires that expires in this year.
fn end_of(year: i32) -> SystemTime {
    let seconds = date_time_ymd(year, 1, 1).unix_timestamp();
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.try_into().unwrap())
}

#[test]
fn a_certificate_is_replaced_when_its_files_change_and_one_that_cannot_be_used_replaces_none() {
    let folders = Folders::new();
    let first = pair(2041);
    let second = pair(2042);
    let third = pair(2055);
    publish(&folders, "..1", &first);
    let tls = Tls::new(files(&folders), TlsVersion::Tls12).unwrap();
    let mut reload = CertificateReloader::new(tls.clone());
    reload.poll();
    assert_eq!(tls.not_after(), Some(end_of(2041)));
    publish(&folders, "..2", &second);
    reload.poll();
    assert_eq!(tls.not_after(), Some(end_of(2042)));
    // The key of another certificate, what is none, and nothing.
    let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned();
    for (folder, broken) in [
        ("..3", (third.0.clone(), first.1)),
        ("..4", (damaged, third.1.clone())),
        ("..5", (String::new(), String::new())),
    ] {
        publish(&folders, folder, &broken);
        reload.poll();
        assert_eq!(
            (tls.not_after(), reload.last.is_ok()),
            (Some(end_of(2042)), true),
            "{folder} was read"
        );
    }
    fs::remove_file(folders.path("..data")).unwrap();
    reload.poll();
    assert_eq!(
        (tls.not_after(), reload.last.is_ok()),
        (Some(end_of(2042)), false)
    );
    publish(&folders, "..6", &third);
    reload.poll();
    assert_eq!(tls.not_after(), Some(end_of(2055)));
    let (new, old) = (
        tls.current.certificate.load(),
        Tls::new(files(&folders), TlsVersion::Tls12).unwrap(),
    );
    assert_eq!(new.key.cert, old.current.certificate.load().key.cert);
}

#[test]
fn files_that_cannot_be_used_are_named_with_what_is_wrong() {
    let folders = Folders::new();
    let first = pair(2041);
    let second = pair(2042);
    for (certificate, key, expected) in [
        (
            None,
            None,
            "cannot read `@/tls.crt`: No such file or directory (os error 2)",
        ),
        (
            Some(first.0.as_str()),
            None,
            "cannot read `@/tls.key`: No such file or directory (os error 2)",
        ),
        (
            Some("text"),
            Some(first.1.as_str()),
            "cannot use `@/tls.crt`: expected certificates in PEM format: no items found",
        ),
        (
            Some(&first.1),
            Some(&first.0),
            "cannot use `@/tls.crt` as the certificate: it has a private key; swap the files if `@/tls.key` is the certificate",
        ),
        (
            Some(&first.0),
            Some(&first.0),
            "cannot use `@/tls.key`: expected a private key in PEM format (PKCS #8, PKCS #1 or SEC1): no items found",
        ),
        (
            Some(&first.0),
            Some(&second.1),
            "cannot use the certificate `@/tls.crt` with the private key `@/tls.key`: keys may not be consistent: \
             KeyMismatch",
        ),
    ] {
        for (name, text) in [("tls.crt", certificate), ("tls.key", key)] {
            if let Some(text) = text {
                folders.write(name, text);
            }
        }
        let error = chain(&Tls::new(files(&folders), TlsVersion::Tls12).unwrap_err());
        assert_eq!(folders.shown(&error), expected);
    }
}

#[test]
fn a_private_key_is_in_no_debug_output() {
    let folders = Folders::new();
    let (certificate, key) = pair(2041);
    folders.write("tls.crt", certificate);
    folders.write("tls.key", &key);
    let tls = Tls::new(files(&folders), TlsVersion::Tls13).unwrap();
    let shown = format!(
        "{tls:?} {:?} {:?}",
        tls.current,
        PemFiles::read(&files(&folders))
    );
    let secret = key.lines().nth(1).unwrap();
    assert!(
        !shown.contains(secret) && !shown.contains(&format!("{:?}", &key.as_bytes()[28..40])),
        "{shown}"
    );
}
