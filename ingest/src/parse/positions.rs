//! From byte offsets to lines and UTF-16 columns, as V8 reports them.

/// The starts of all lines of a text.
pub(super) struct Positions<'t> {
    text: &'t str,
    starts: Vec<u32>,
}

impl<'t> Positions<'t> {
    /// Reads a text once.
    pub(super) fn new(text: &'t str) -> Self {
        let mut starts = vec![0];
        for (at, byte) in text.bytes().enumerate() {
            if byte == b'\n' {
                starts.push(u32::try_from(at + 1).unwrap_or(u32::MAX));
            }
        }
        Self { text, starts }
    }

    /// Number of lines; a final line feed starts no line of its own.
    pub(super) fn lines(&self) -> u32 {
        let count = self.starts.len() - usize::from(self.text.ends_with('\n') || self.text.is_empty());
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Line of an offset, from 1.
    pub(super) fn line(&self, offset: u32) -> u32 {
        u32::try_from(self.starts.partition_point(|start| *start <= offset)).unwrap_or(u32::MAX)
    }

    /// Line and UTF-16 column of an offset, both from 1.
    pub(super) fn line_column(&self, offset: u32) -> (u32, u32) {
        let line = self.line(offset);
        let start = self.starts.get(line as usize - 1).copied().unwrap_or(0) as usize;
        let before = self.text.get(start..offset as usize).unwrap_or("");
        let column = before.chars().map(char::len_utf16).sum::<usize>() + 1;
        (line, u32::try_from(column).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::Positions;

    #[test]
    fn columns_count_utf_16_units() {
        let text = "a\n\"😀é\" b\n";
        let positions = Positions::new(text);
        assert_eq!(positions.lines(), 2);
        assert_eq!(positions.line_column(0), (1, 1));
        let b = u32::try_from(text.find('b').unwrap()).unwrap();
        assert_eq!(positions.line_column(b), (2, 7));
        assert_eq!(Positions::new("").lines(), 0);
        assert_eq!(Positions::new("x").lines(), 1);
    }
}
