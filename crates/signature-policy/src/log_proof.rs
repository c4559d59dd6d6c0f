//! The proof that a log has an entry: a path through its tree of hashes (RFC 9162) to a root that the
//! log signed in a checkpoint.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use content_digest::DigestHasher;

use crate::key::PublicKey;
use crate::rekor::RekorError;

/// Maximum number of hashes in a proof: one for each level of a tree of 2^63 entries.
const MAX_PROOF_HASHES: usize = 63;

/// Bytes of the name of a key before each signature of a checkpoint.
const KEY_NAME_BYTES: usize = 4;

type Hash = [u8; 32];

/// A proof that an entry is in a tree.
#[derive(Debug)]
pub(crate) struct InclusionProof<'a> {
    pub(crate) index: u64,
    pub(crate) tree_size: u64,
    pub(crate) hashes: &'a [Vec<u8>],
    /// A signed note: size and root of the tree, a blank line, and signatures.
    pub(crate) checkpoint: &'a str,
}

/// The part of a checkpoint that is signed, and its signatures.
struct SignedNote<'a> {
    text: &'a str,
    size: u64,
    root: Vec<u8>,
    signatures: Vec<Vec<u8>>,
}

impl InclusionProof<'_> {
    /// Verifies that the tree of a log has an entry with this body.
    pub(crate) fn verify(&self, keys: &[PublicKey], body: &[u8]) -> Result<(), RekorError> {
        let note = SignedNote::parse(self.checkpoint)
            .ok_or(RekorError::Malformed("its checkpoint cannot be read"))?;
        let is_signed = note.signatures.iter().any(|signature| {
            keys.iter()
                .any(|key| key.verifies(note.text.as_bytes(), signature))
        });
        if !is_signed {
            return Err(RekorError::NotVerified);
        }
        let root = self.root(body)?;
        if note.size == self.tree_size && note.root == root {
            Ok(())
        } else {
            Err(RekorError::NotIncluded(
                "its proof leads to another tree than the checkpoint",
            ))
        }
    }

    /// Computes the root of the tree from the entry and the hashes beside its path (RFC 9162
    /// §2.1.3.2).
    fn root(&self, body: &[u8]) -> Result<Hash, RekorError> {
        if self.index >= self.tree_size || self.hashes.len() > MAX_PROOF_HASHES {
            return Err(RekorError::NotIncluded("its proof is not one of this tree"));
        }
        let mut node = self.index;
        let mut last = self.tree_size - 1;
        let mut root = hash(&[0], body, &[]);
        for sibling in self.hashes {
            let sibling: &Hash = sibling
                .as_slice()
                .try_into()
                .map_err(|_| RekorError::Malformed("a hash of its proof has not 32 bytes"))?;
            if last == 0 {
                return Err(RekorError::NotIncluded("its proof is too long"));
            }
            if node & 1 == 1 || node == last {
                root = hash(&[1], sibling, &root);
                while node & 1 == 0 && node != 0 {
                    node >>= 1;
                    last >>= 1;
                }
            } else {
                root = hash(&[1], &root, sibling);
            }
            node >>= 1;
            last >>= 1;
        }
        if last == 0 {
            Ok(root)
        } else {
            Err(RekorError::NotIncluded("its proof is too short"))
        }
    }
}

impl<'a> SignedNote<'a> {
    fn parse(note: &'a str) -> Option<Self> {
        let end = note.find("\n\n")?;
        let text = &note[..=end];
        let mut lines = text.lines();
        let _origin = lines.next()?;
        let size = lines.next()?.parse().ok()?;
        let root = BASE64_STANDARD.decode(lines.next()?).ok()?;
        let signatures = note[end..].lines().filter_map(|line| {
            let (_name, signature) = line.strip_prefix("— ")?.rsplit_once(' ')?;
            let bytes = BASE64_STANDARD.decode(signature).ok()?;
            bytes.get(KEY_NAME_BYTES..).map(<[u8]>::to_vec)
        });
        Some(Self {
            text,
            size,
            root,
            signatures: signatures.collect(),
        })
    }
}

fn hash(prefix: &[u8], left: &[u8], right: &[u8]) -> Hash {
    let mut hasher = DigestHasher::new();
    hasher.update(prefix);
    hasher.update(left);
    hasher.update(right);
    *hasher.finish().as_bytes()
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
    };

    use super::*;

    /// Hashes the subtree of these entries, and collects the hashes beside the path to one of them
    /// (RFC 9162 §2.1.1 and §2.1.3.1).
    fn tree(entries: &[Vec<u8>], at: Option<usize>, path: &mut Vec<Vec<u8>>) -> Hash {
        if let [entry] = entries {
            return hash(&[0], entry, &[]);
        }
        let split = entries.len().next_power_of_two() / 2;
        let (left, right) = entries.split_at(split);
        let left_at = at.filter(|at| *at < split);
        let right_at = at.filter(|at| *at >= split).map(|at| at - split);
        let left = tree(left, left_at, path);
        let right = tree(right, right_at, path);
        if left_at.is_some() {
            path.push(right.to_vec());
        } else if right_at.is_some() {
            path.push(left.to_vec());
        }
        hash(&[1], &left, &right)
    }

    fn signed_checkpoint(key: &EcdsaKeyPair, size: usize, root: &Hash) -> String {
        let text = format!(
            "log.example.com - 1\n{size}\n{}\n",
            BASE64_STANDARD.encode(root)
        );
        let signature = key.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
        let named = [&[0; KEY_NAME_BYTES], signature.as_ref()].concat();
        format!(
            "{text}\n— log.example.com {}\n",
            BASE64_STANDARD.encode(named)
        )
    }

    #[test]
    fn every_entry_of_every_small_tree_is_proved_and_no_other() {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        let public = crate::key::tests::p256(key.public_key().as_ref());
        assert!(
            UnparsedPublicKey::new(&aws_lc_rs::signature::ECDSA_P256_SHA256_ASN1, public.der())
                .verify(b"", b"")
                .is_err()
        );
        let keys = [public];
        for size in 1..=17 {
            let entries: Vec<_> = (0..size).map(|entry| vec![entry]).collect();
            for at in 0..entries.len() {
                let mut hashes = Vec::new();
                let root = tree(&entries, Some(at), &mut hashes);
                let checkpoint = signed_checkpoint(&key, entries.len(), &root);
                let proof = InclusionProof {
                    index: at as u64,
                    tree_size: u64::from(size),
                    hashes: &hashes,
                    checkpoint: &checkpoint,
                };
                assert!(proof.verify(&keys, &entries[at]).is_ok(), "{at} of {size}");
                let another = proof.verify(&keys, b"another");
                assert!(
                    matches!(another, Err(RekorError::NotIncluded(_))),
                    "{at} of {size}: {another:?}"
                );
            }
        }
    }

    #[test]
    fn a_checkpoint_counts_only_with_the_signature_of_the_log() {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        let other = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        let keys = [crate::key::tests::p256(key.public_key().as_ref())];
        let root = hash(&[0], b"entry", &[]);
        for (checkpoint, is_accepted) in [
            (signed_checkpoint(&key, 1, &root), true),
            (signed_checkpoint(&other, 1, &root), false),
            (signed_checkpoint(&key, 1, &[0; 32]), false),
            (signed_checkpoint(&key, 2, &root), false),
            (String::new(), false),
            ("log\n1\n\n".to_owned(), false),
        ] {
            let proof = InclusionProof {
                index: 0,
                tree_size: 1,
                hashes: &[],
                checkpoint: &checkpoint,
            };
            let verified = proof.verify(&keys, b"entry");
            assert_eq!(verified.is_ok(), is_accepted, "{checkpoint:?}");
        }
    }
}
