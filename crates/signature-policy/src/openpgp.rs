//! `OpenPGP` messages of simple signing (RFC 9580): a payload within a signed, usually compressed
//! message.
//!
//! A message is taken apart here instead of by `pgp`, which follows messages within messages as deep
//! as a stranger nests them. `pgp` parses the packets and verifies signatures.

use std::io::{Cursor, Read};

use jiff::Timestamp;
use pgp::composed::{Deserializable, SignedPublicKey, SignedPublicSubKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{Packet, PacketParser, PublicKey, PublicSubkey, Signature, SignatureType};
use pgp::ser::Serialize as _;
use pgp::types::{KeyDetails, PublicParams, RsaPublicParams, Tag, VerifyingKey};

use crate::document::PolicyError;
use crate::key::{MAX_KEYS, MAX_OPENPGP_BYTES, OPENPGP_RSA_BITS};
use crate::subject::refusal;
use crate::{Refusal, RefusalCode};

/// True in builds that verify `OpenPGP` signatures.
pub(crate) const IS_SUPPORTED: bool = true;

/// Set in the first byte of each packet, and thus of each message that is not text.
const PACKET_BIT: u8 = 0x80;

/// The keys of a requirement that may sign.
#[derive(Clone, Debug)]
pub(crate) struct KeyRing(Vec<RingKey>);

/// A key that may sign, with the times of its validity.
#[derive(Clone, Debug)]
struct RingKey {
    material: KeyMaterial,
    /// Fingerprint of the primary key.
    owner: String,
    /// Seconds since 1970 until which it is valid.
    expires: Option<i64>,
}

#[derive(Clone, Debug)]
enum KeyMaterial {
    Primary(PublicKey),
    Subkey(PublicSubkey),
}

/// A message whose signature was verified.
pub(crate) struct VerifiedMessage {
    pub(crate) payload: Vec<u8>,
    /// Fingerprint of the primary key.
    pub(crate) fingerprint: String,
}

/// A message with one signature.
struct SignedMessage {
    payload: Vec<u8>,
    signature: Signature,
}

fn malformed(reason: impl Into<String>) -> Refusal {
    refusal(RefusalCode::SignatureMalformed, reason)
}

fn not_verified(reason: impl Into<String>) -> Refusal {
    refusal(RefusalCode::SignatureNotVerified, reason)
}

impl KeyRing {
    /// Parses the files of keys, each binary or in ASCII armor.
    pub(crate) fn parse(files: &[Vec<u8>]) -> Result<Self, PolicyError> {
        let mut keys = Vec::new();
        for file in files {
            for certificate in certificates(file)? {
                keys.extend(signing_keys(&certificate));
            }
        }
        if keys.is_empty() {
            return Err(PolicyError::new(
                "no OpenPGP key for signing is in its files",
            ));
        }
        if keys.len() > MAX_KEYS {
            return Err(PolicyError::new(format!(
                "{} OpenPGP keys exceed the limit of {MAX_KEYS}",
                keys.len()
            )));
        }
        Ok(Self(keys))
    }

    /// Verifies a message, and returns its payload.
    pub(crate) fn verify(
        &self,
        message: &[u8],
        now: Timestamp,
    ) -> Result<VerifiedMessage, Refusal> {
        let message = SignedMessage::parse(message)?;
        message.check_algorithms()?;
        let now = now.as_second();
        if message.expires().is_some_and(|expires| expires < now) {
            return Err(not_verified("the OpenPGP signature has expired"));
        }
        let mut expired = None;
        for key in &self.0 {
            if !key.verifies(&message) {
                continue;
            }
            if key.expires.is_some_and(|expires| expires < now) {
                expired = Some(&key.owner);
                continue;
            }
            return Ok(VerifiedMessage {
                payload: message.payload,
                fingerprint: key.owner.clone(),
            });
        }
        if let Some(owner) = expired {
            return Err(not_verified(format!(
                "the OpenPGP key {owner} of the signature has expired"
            )));
        }
        let tried: Vec<_> = self.0.iter().map(|key| key.owner.as_str()).collect();
        Err(not_verified(format!(
            "no OpenPGP key verifies the signature; tried {}",
            tried.join(", ")
        )))
    }
}

impl RingKey {
    fn verifies(&self, message: &SignedMessage) -> bool {
        let payload = message.payload.as_slice();
        let signature = &message.signature;
        match &self.material {
            KeyMaterial::Primary(key) => signature.verify(key, payload).is_ok(),
            KeyMaterial::Subkey(key) => signature.verify(key, payload).is_ok(),
        }
    }
}

impl SignedMessage {
    /// Parses a message: a signed one, or one that is compressed.
    fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        if bytes.first().is_none_or(|first| first & PACKET_BIT == 0) {
            return Err(malformed("the signature is not an OpenPGP message"));
        }
        if bytes.len() as u64 > MAX_OPENPGP_BYTES {
            return Err(too_long());
        }
        match next_packet(&mut PacketParser::new(bytes))? {
            Packet::CompressedData(compressed) => {
                let reader = compressed
                    .decompress()
                    .map_err(|error| malformed(format!("cannot decompress it: {error}")))?;
                let mut message = Vec::new();
                reader
                    .take(MAX_OPENPGP_BYTES + 1)
                    .read_to_end(&mut message)
                    .map_err(|error| malformed(format!("cannot decompress it: {error}")))?;
                if message.len() as u64 > MAX_OPENPGP_BYTES {
                    return Err(too_long());
                }
                Self::parse_signed(&message)
            }
            _ => Self::parse_signed(bytes),
        }
    }

    /// Parses the packets of a signed message: the announcement of its signature, the payload, and
    /// the signature.
    fn parse_signed(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut packets = PacketParser::new(bytes);
        let announced = next_packet(&mut packets)?;
        let payload = next_packet(&mut packets)?;
        let signature = next_packet(&mut packets)?;
        match (announced, payload, signature, packets.next()) {
            (
                Packet::OnePassSignature(_),
                Packet::LiteralData(payload),
                Packet::Signature(signature),
                None,
            ) => Ok(Self {
                payload: payload.data().to_vec(),
                signature,
            }),
            _ => Err(malformed("it is not a message with one signature")),
        }
    }

    /// Refuses signatures that can be forged.
    fn check_algorithms(&self) -> Result<(), Refusal> {
        if !matches!(
            self.signature.typ(),
            Some(SignatureType::Binary | SignatureType::Text)
        ) {
            return Err(malformed("it is not a signature of a document"));
        }
        match self.signature.hash_alg() {
            Some(
                HashAlgorithm::Sha224
                | HashAlgorithm::Sha256
                | HashAlgorithm::Sha384
                | HashAlgorithm::Sha512
                | HashAlgorithm::Sha3_256
                | HashAlgorithm::Sha3_512,
            ) => Ok(()),
            Some(other) => Err(not_verified(format!(
                "the OpenPGP signature is made with {other}, which is not accepted"
            ))),
            None => Err(malformed("the version of the signature is unknown")),
        }
    }

    /// Returns the time after which the signature is not valid.
    fn expires(&self) -> Option<i64> {
        let lifetime = i64::from(self.signature.signature_expiration_time()?.as_secs());
        let created = i64::from(self.signature.created()?.as_secs());
        (lifetime > 0).then_some(created + lifetime)
    }
}

fn too_long() -> Refusal {
    malformed(format!(
        "the OpenPGP message has more than {MAX_OPENPGP_BYTES} bytes"
    ))
}

fn next_packet(packets: &mut PacketParser<&[u8]>) -> Result<Packet, Refusal> {
    match packets.next() {
        Some(Ok(packet)) => Ok(packet),
        Some(Err(error)) => Err(malformed(format!(
            "cannot read the OpenPGP message: {error}"
        ))),
        None => Err(malformed("the OpenPGP message is cut off")),
    }
}

/// Parses the certificates of a file. One that cannot be parsed makes the file unusable.
fn certificates(file: &[u8]) -> Result<Vec<SignedPublicKey>, PolicyError> {
    let unusable = |error| PolicyError::new(format!("cannot parse OpenPGP keys: {error}"));
    let is_binary = file.first().is_some_and(|first| first & PACKET_BIT != 0);
    let parsed: Result<Vec<_>, _> = if is_binary {
        SignedPublicKey::from_bytes_many(file)
            .map_err(unusable)?
            .collect()
    } else {
        let (keys, _) =
            SignedPublicKey::from_armor_many_buf(Cursor::new(file)).map_err(unusable)?;
        keys.collect()
    };
    parsed.map_err(unusable)
}

/// Returns the keys of a certificate that may sign documents.
fn signing_keys(certificate: &SignedPublicKey) -> Vec<RingKey> {
    let primary = &certificate.primary_key;
    let details = &certificate.details;
    let is_revoked = details
        .revocation_signatures
        .iter()
        .any(|signature| signature.verify_key(primary).is_ok());
    if is_revoked || !is_strong(primary) {
        return Vec::new();
    }

    // The newest statement of the owner about the key counts.
    let users = details.users.iter().flat_map(|user| {
        user.signatures.iter().filter(|signature| {
            signature
                .verify_certification(primary, Tag::UserId, &user.id)
                .is_ok()
        })
    });
    let direct = details
        .direct_signatures
        .iter()
        .filter(|signature| signature.verify_key(primary).is_ok());
    let statement = users
        .chain(direct)
        .filter(|signature| signature.typ() != Some(SignatureType::CertRevocation))
        .max_by_key(|signature| signature.created());
    let Some(statement) = statement else {
        return Vec::new();
    };
    let owner = primary.fingerprint().to_string().to_uppercase();
    let expires = expiry(primary, statement);

    let mut keys = Vec::new();
    // Keys without flags may do everything.
    if statement.key_flags() == pgp::packet::KeyFlags::default() || statement.key_flags().sign() {
        keys.push(RingKey {
            material: KeyMaterial::Primary(primary.clone()),
            owner: owner.clone(),
            expires,
        });
    }
    for subkey in &certificate.public_subkeys {
        let Some(binding) = signing_binding(primary, subkey) else {
            continue;
        };
        let own = expiry(&subkey.key, binding);
        keys.push(RingKey {
            material: KeyMaterial::Subkey(subkey.key.clone()),
            owner: owner.clone(),
            expires: expires.into_iter().chain(own).min(),
        });
    }
    keys
}

/// Returns the newest statement by which a subkey may sign, unless the subkey is revoked.
fn signing_binding<'a>(
    primary: &PublicKey,
    subkey: &'a SignedPublicSubKey,
) -> Option<&'a Signature> {
    let valid = |signature: &&Signature| {
        signature
            .verify_subkey_binding(primary, &subkey.key)
            .is_ok()
    };
    let statements: Vec<_> = subkey.signatures.iter().filter(valid).collect();
    let revoked = Some(SignatureType::SubkeyRevocation);
    if statements
        .iter()
        .any(|statement| statement.typ() == revoked)
        || !is_strong(&subkey.key)
    {
        return None;
    }
    let binding = statements
        .into_iter()
        .max_by_key(|statement| statement.created())?;

    // The subkey agrees too: otherwise a certificate could claim the signatures of another one.
    let agreed = binding.embedded_signature().is_some_and(|signature| {
        signature
            .verify_primary_key_binding(&subkey.key, primary)
            .is_ok()
    });
    (binding.key_flags().sign() && agreed).then_some(binding)
}

/// Returns the time after which a key is not valid by a statement about it.
fn expiry(key: &impl KeyDetails, statement: &Signature) -> Option<i64> {
    let lifetime = i64::from(statement.key_expiration_time()?.as_secs());
    (lifetime > 0).then(|| i64::from(key.created_at().as_secs()) + lifetime)
}

/// Returns whether signatures of the key cannot be forged.
fn is_strong(key: &impl VerifyingKey) -> bool {
    match key.public_params() {
        PublicParams::RSA(rsa) => {
            rsa_bits(rsa).is_some_and(|bits| OPENPGP_RSA_BITS.contains(&bits))
        }
        PublicParams::ECDSA(_)
        | PublicParams::EdDSALegacy(_)
        | PublicParams::Ed25519(_)
        | PublicParams::Ed448(_) => true,
        _ => false,
    }
}

/// Returns the size of an RSA key, with which its encoding begins (RFC 9580 §3.2).
fn rsa_bits(rsa: &RsaPublicParams) -> Option<u16> {
    let encoded = rsa.to_bytes().ok()?;
    encoded.first_chunk().copied().map(u16::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn refused(message: &[u8]) -> String {
        let refused = SignedMessage::parse(message).map(|_| ());
        let refusal = refused.expect_err("it is no signed message");
        assert_eq!(refusal.code, RefusalCode::SignatureMalformed);
        refusal.message
    }

    /// A packet of compressed data (RFC 9580 §5.6) with its length to the end of the message.
    fn compressed(message: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(vec![0xa3, 2], Compression::best());
        encoder.write_all(message).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    }

    #[test]
    fn a_message_is_not_decompressed_beyond_its_limit() {
        let limit = usize::try_from(MAX_OPENPGP_BYTES).expect("it fits");
        let most = vec![PACKET_BIT; limit];
        assert!(!refused(&most).contains("more than"), "{}", refused(&most));
        assert!(!refused(&compressed(&most)).contains("more than"));
        let more = vec![PACKET_BIT; limit + 1];
        assert!(refused(&more).contains("more than"));
        let bomb = compressed(&more);
        assert!(bomb.len() < 10_000, "{}", bomb.len());
        assert!(refused(&bomb).contains("more than"));
    }

    #[test]
    fn messages_within_messages_are_not_followed() {
        let mut message = b"\xcb\x03b\x00x".to_vec();
        for _ in 0..100 {
            message = compressed(&message);
        }
        assert_eq!(refused(&message), "the OpenPGP message is cut off");
    }
}
