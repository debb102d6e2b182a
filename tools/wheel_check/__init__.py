"""The built wheel, installed as users install it: away from the checkout, beside other packages."""
