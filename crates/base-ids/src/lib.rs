//! Typed indices: a type for each kind of list, so that an index of one is none of another.

/// Types that each name an element of one `Vec` by its place, with documentation as for any type.
///
/// ```
/// base_ids::ids! {
///     /// In `names`.
///     NameId;
/// }
/// let names = ["a", "b"];
/// assert_eq!(names[NameId::from(1).index()], "b");
/// ```
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in its `Vec`.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            fn from(index: usize) -> $name {
                $name(u32::try_from(index).expect("fewer than 2^32 elements"))
            }
        }

        impl From<$name> for usize {
            fn from(id: $name) -> usize {
                id.index()
            }
        }
    )*};
}
