//! Certificates and keys of a control plane, from an authority of its own.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair,
};

use crate::Folders;

/// Writes the certificate of a new authority of front proxies (`front-proxy-ca.pem`), and one with
/// its key with which the API server shows that it is one (`front-proxy.pem`, `front-proxy.key`).
pub(super) fn write_front_proxy(folders: &Folders) {
    let mut params = CertificateParams::new(Vec::new()).expect("no name is wrong");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority =
        CertifiedIssuer::self_signed(params, new_key()).expect("the authority can sign");
    let mut proxy = CertificateParams::new(Vec::new()).expect("no name is wrong");
    proxy.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    proxy.distinguished_name = DistinguishedName::new();
    proxy
        .distinguished_name
        .push(DnType::CommonName, "front-proxy");
    folders.write("front-proxy-ca.pem", authority.pem());
    write_signed(folders, "front-proxy", &proxy, &authority);
}

/// Writes the certificate of a new authority of users (`client-ca.pem`), and one of an
/// administrator with its key (`admin.pem`, `admin.key`).
pub(super) fn write_administrator(folders: &Folders) {
    let mut params = CertificateParams::new(Vec::new()).expect("no name is wrong");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority =
        CertifiedIssuer::self_signed(params, new_key()).expect("the authority can sign");
    folders.write("client-ca.pem", authority.pem());
    let mut admin = CertificateParams::new(Vec::new()).expect("no name is wrong");
    admin.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    admin.distinguished_name = DistinguishedName::new();
    admin.distinguished_name.push(DnType::CommonName, "admin");
    // The group that may do everything.
    admin
        .distinguished_name
        .push(DnType::OrganizationName, "system:masters");
    write_signed(folders, "admin", &admin, &authority);
}

/// Writes the authority's certificate (`ca.pem`), one with its key for the API server
/// (`server.pem`, `server.key`), and the keys that tokens of service accounts are signed with
/// (`tokens.key`) and checked by (`tokens.pub`).
pub(super) fn write_certificates(folders: &Folders) {
    let mut params = CertificateParams::new(Vec::new()).expect("no name is wrong");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority =
        CertifiedIssuer::self_signed(params, new_key()).expect("the authority can sign");
    folders.write("ca.pem", authority.pem());

    let mut server =
        CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address is a name");
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    write_signed(folders, "server", &server, &authority);

    let tokens = new_key();
    folders.write("tokens.key", tokens.serialize_pem());
    folders.write("tokens.pub", tokens.public_key_pem());
}

/// Writes a certificate with its key.
fn write_signed(
    folders: &Folders,
    name: &str,
    params: &CertificateParams,
    authority: &CertifiedIssuer<'static, KeyPair>,
) {
    let key = new_key();
    let certificate = params
        .signed_by(&key, authority)
        .expect("the authority can sign");
    folders.write(&format!("{name}.pem"), certificate.pem());
    folders.write(&format!("{name}.key"), key.serialize_pem());
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("keys can be made")
}
