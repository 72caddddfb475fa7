	use crate::a::{self, b as c, *};
mod x { pub(super) fn f<'a, T: A + 'a>(t: &'a T) -> impl Fn(u8) -> T { move |y| t.g::<u8>(y)? } }
impl<T> A for B<T> where T: C { async fn m(&self) { self.n().await; vec![1; 2]; macro_!{ a => b } } }
enum E { V { a: u8 }, W(u8) }
