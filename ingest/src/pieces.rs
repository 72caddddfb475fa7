//! Data that is kept as bytes: a run decodes what it needs of it, and writes the rest as it lies.

use std::borrow::Cow;

use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes of one value, or of none where it is the one that goes without saying.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Piece<'l>(Cow<'l, [u8]>);

impl Piece<'static> {
    /// A value as a piece. What cannot be encoded is a piece that cannot be decoded: it is found again.
    pub(crate) fn of<T: Serialize + Default + PartialEq>(value: &T) -> Self {
        if *value == T::default() {
            return Self::default();
        }
        Self(Cow::Owned(postcard::to_allocvec(value).unwrap_or_else(|_| vec![u8::MAX])))
    }
}

impl Piece<'_> {
    /// Whether it is the value that goes without saying.
    pub(crate) fn is_default(&self) -> bool {
        self.0.is_empty()
    }

    /// The value; nothing where the bytes are none.
    pub(crate) fn get<T: DeserializeOwned + Default>(&self) -> Option<T> {
        if self.is_default() { Some(T::default()) } else { postcard::from_bytes(&self.0).ok() }
    }

    /// Changes the value, if there is one.
    pub(crate) fn change<T: Serialize + DeserializeOwned + Default + PartialEq>(
        &mut self,
        change: impl FnOnce(&mut T),
    ) {
        if !self.is_default()
            && let Some(mut value) = self.get()
        {
            change(&mut value);
            *self = Piece::of(&value);
        }
    }
}

/// Numbers, of which `N` belong together, without anything between them: they are looked at in each run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Numbers<'l, const N: usize>(Piece<'l>);

impl<const N: usize> Numbers<'static, N> {
    pub(crate) fn of(all: impl Iterator<Item = [u32; N]>) -> Self {
        Self(Piece(Cow::Owned(all.flatten().flat_map(u32::to_le_bytes).collect())))
    }
}

impl<const N: usize> Numbers<'_, N> {
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = [u32; N]> + '_ {
        self.0.0.chunks_exact(4 * N).map(|group| {
            std::array::from_fn(|at| {
                group.get(4 * at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
            })
        })
    }

    /// Changes each group.
    pub(crate) fn change(&mut self, change: impl Fn(&mut [u32; N])) {
        if !self.0.is_default() {
            let changed = self.iter().map(|mut group| {
                change(&mut group);
                group
            });
            *self = Numbers::of(changed);
        }
    }
}

impl Serialize for Piece<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de: 'l, 'l> Deserialize<'de> for Piece<'l> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowed;
        impl<'de> Visitor<'de> for Borrowed {
            type Value = &'de [u8];
            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("bytes")
            }
            fn visit_borrowed_bytes<E: Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                Ok(bytes)
            }
        }
        Ok(Self(Cow::Borrowed(deserializer.deserialize_bytes(Borrowed)?)))
    }
}

impl<const N: usize> Serialize for Numbers<'_, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de: 'l, 'l, const N: usize> Deserialize<'de> for Numbers<'l, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Piece::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_and_are_changed_where_there_is_something() {
        let mut piece = Piece::of(&vec![(7_u32, "seven".to_owned())]);
        let written = postcard::to_allocvec(&piece).unwrap();
        assert_eq!(postcard::from_bytes::<Piece<'_>>(&written).unwrap(), piece);
        piece.change(|all: &mut Vec<(u32, String)>| all[0].0 = 8);
        assert_eq!(piece.get(), Some(vec![(8_u32, "seven".to_owned())]));
        let mut none = Piece::of(&Vec::<u32>::new());
        none.change(|_: &mut Vec<u32>| unreachable!("there is nothing to change"));
        assert_eq!((none.is_default(), none.get::<Vec<u32>>()), (true, Some(vec![])));
        assert_eq!(Piece(Cow::Borrowed(&[200])).get::<Vec<u32>>(), None);
    }

    #[test]
    fn numbers_come_back_in_their_groups() {
        let groups = [[1, 2, 3], [u32::MAX, 0, 7]];
        let mut numbers = Numbers::of(groups.into_iter());
        let written = postcard::to_allocvec(&numbers).unwrap();
        assert_eq!(postcard::from_bytes::<Numbers<'_, 3>>(&written).unwrap(), numbers);
        assert!(numbers.iter().eq(groups));
        numbers.change(|group| group[2] += 1);
        assert!(numbers.iter().eq([[1, 2, 4], [u32::MAX, 0, 8]]));
        // What is left over at the end is no group.
        assert_eq!(Numbers::<3>(Piece(Cow::Borrowed(&[1; 13]))).iter().len(), 1);
    }
}
