"""The task families of Storefront, one file each."""
