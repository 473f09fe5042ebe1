"""storefront"""
