//! The tree of RFC 6962 (and 9162): leaves and nodes are hashed with different first bytes, so that neither can be taken
//! for the other, and a list of any length has one shape.

use sha2::{Digest as _, Sha256};

use super::Hash;

/// The hash of a leaf's bytes.
pub fn leaf(bytes: &[u8]) -> Hash {
    Hash(Sha256::new_with_prefix([0]).chain_update(bytes).finalize().into())
}

/// The hash of a node over two others.
fn node(left: Hash, right: Hash) -> Hash {
    Hash(Sha256::new_with_prefix([1]).chain_update(left.0).chain_update(right.0).finalize().into())
}

/// The root over the leaves, in order.
pub fn root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Hash::of(&[]),
        [one] => *one,
        _ => {
            let (left, right) = leaves.split_at(split(leaves.len()));
            node(root(left), root(right))
        }
    }
}

/// What else is needed to compute the root from the leaf at `index`, from the leaf upwards; nothing where there is no
/// such leaf.
pub fn path(index: usize, leaves: &[Hash]) -> Option<Vec<Hash>> {
    if index >= leaves.len() {
        return None;
    }
    if leaves.len() == 1 {
        return Some(Vec::new());
    }
    let (left, right) = leaves.split_at(split(leaves.len()));
    let (mut path, other) = if index < left.len() {
        (path(index, left)?, root(right))
    } else {
        (path(index - left.len(), right)?, root(left))
    };
    path.push(other);
    Some(path)
}

/// The root that a leaf at `index` of `size` leaves and its path lead to; nothing where the path has another length than
/// such a place has.
pub fn root_from_path(leaf: Hash, index: u64, size: u64, path: &[Hash]) -> Option<Hash> {
    if index >= size {
        return None;
    }
    let (mut at, mut last, mut hash) = (index, size - 1, leaf);
    for other in path {
        if last == 0 {
            return None;
        }
        if at % 2 == 1 || at == last {
            hash = node(*other, hash);
            while at % 2 == 0 && at != 0 {
                at /= 2;
                last /= 2;
            }
        } else {
            hash = node(hash, *other);
        }
        at /= 2;
        last /= 2;
    }
    (last == 0).then_some(hash)
}

/// The largest power of two below `length`, which is at least 2.
fn split(length: usize) -> usize {
    1 << (length - 1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(count: usize) -> Vec<Hash> {
        (0..count).map(|n| leaf(&n.to_be_bytes())).collect()
    }

    #[test]
    fn roots_are_those_of_the_rfc() {
        // The vectors that implementations of Certificate Transparency share.
        let inputs =
            ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
        let leaves: Vec<Hash> = inputs.iter().map(|text| leaf(&hex::decode(text).unwrap())).collect();
        for (count, expected) in [
            (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
            (2, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
            (3, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
            (7, "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"),
            (8, "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
        ] {
            assert_eq!(root(&leaves[..count]).to_string(), expected, "{count}");
        }
    }

    #[test]
    fn every_leaf_proves_its_place_and_no_other() {
        for size in 1..=40 {
            let leaves = leaves(size);
            let root = root(&leaves);
            for index in 0..size {
                let path = path(index, &leaves).unwrap();
                for other in 0..=size {
                    let led = root_from_path(leaves[index], other as u64, size as u64, &path);
                    assert_eq!(led == Some(root), other == index, "{index} as {other} of {size}");
                }
                let longer: Vec<Hash> = path.iter().copied().chain([Hash::ZERO]).collect();
                assert_eq!(root_from_path(leaves[index], index as u64, size as u64, &longer), None);
                if let Some((_, shorter)) = path.split_last() {
                    assert_ne!(root_from_path(leaves[index], index as u64, size as u64, shorter), Some(root));
                }
            }
            assert_eq!(path(size, &leaves), None);
        }
    }
}
